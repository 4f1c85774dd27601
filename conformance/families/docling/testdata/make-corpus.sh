#!/bin/sh
# Makes the office files of the corpus from their sources, with LibreOffice.
# The files are committed: tests need no LibreOffice. A new one writes other
# bytes; run the tests with -update after this and look at what changed.
set -eu
cd "$(dirname "$0")/corpus"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
convert() { # format, source, further arguments
	format=$1 source=$2
	shift 2
	soffice "-env:UserInstallation=file://$profile" --headless "$@" --convert-to "$format" --outdir . "sources/$source" >/dev/null 2>&1
}
convert docx handbook.fodt
for name in timetable chemistry lists; do
	convert 'docx:MS Word 2007 XML' $name.html '--infilter=HTML (StarWriter)'
done
for name in budget formats; do convert xlsx $name.fods; done
for name in cities pairs; do convert xlsx $name.csv '--infilter=CSV:44,34,76,1'; done
for name in talk steps flags agenda; do convert pptx $name.fodp; done
