#!/usr/bin/env bash
# Makes the PDF files of the corpus from their sources, with LibreOffice,
# Chromium and poppler (pdftocairo). The files are committed: programs of another version
# write other bytes, and the golden files beside them would have to be reviewed
# again. Usage: testdata/make-corpus-pdf.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/corpus"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

office() { # office FILTER SOURCE [OPTION…]
	local filter=$1 source=$2
	shift 2
	soffice "-env:UserInstallation=file://$profile" --headless "$@" --convert-to "pdf:$filter" --outdir . "sources/$source" >/dev/null
}

office writer_pdf_Export report.html "--infilter=HTML (StarWriter)"
office writer_pdf_Export prices.html "--infilter=HTML (StarWriter)"
office writer_pdf_Export letter.html "--infilter=HTML (StarWriter)"
office writer_pdf_Export survey.html "--infilter=HTML (StarWriter)"
office calc_pdf_Export staff.csv '--infilter=CSV:44,34,76,1'
office calc_pdf_Export budget.fods
office writer_pdf_Export station.fodt
office writer_pdf_Export columns.fodt
# Marks over letters, with fonts-noto-core.
office writer_pdf_Export thai.html "--infilter=HTML (StarWriter)"
office draw_pdf_Export drawing.svg
# The same pages as cairo writes them: other operators, other fonts.
pdftocairo -pdf report.pdf cairo.pdf
# What runs from the right, as Chromium writes it, with the fonts of
# fonts-hosny-amiri, culmus and fonts-dejavu; Hindi with fonts-noto-core, and Japanese that runs
# down with fonts-ipafont-gothic.
for name in arabic hebrew mixed hindi vertical; do
	chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer "--print-to-pdf=$name.pdf" "sources/$name.html"
done
# What needs a password.
soffice "-env:UserInstallation=file://$profile" --headless --convert-to \
	'pdf:writer_pdf_Export:{"EncryptFile":{"type":"boolean","value":"true"},"DocumentOpenPassword":{"type":"string","value":"harbour"}}' \
	--outdir "$profile" sources/columns.fodt >/dev/null
cp "$profile/columns.pdf" encrypted.pdf
ls -l ./*.pdf
