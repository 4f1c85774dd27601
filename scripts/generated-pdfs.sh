#!/usr/bin/env bash
# More than two hundred PDF files by many programs, in ten scripts, read by the reference
# server and by pdftotext and compared with the texts that they were made of. The programs
# are installed where apt-get and npm can; the files are those of
# conformance/families/docling/corpus/generated.
#   generated-pdfs.sh [FOLDER]   keeps the files, and makes only those that it lacks
# Exit 0: each file reaches its floor; 1: one does not; 75: no files could be made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

DEBIAN=(chromium libreoffice-writer-nogui weasyprint wkhtmltopdf ghostscript poppler-utils poppler-data pango1.0-tools librsvg2-bin
	fop groff enscript python3-reportlab ruby ruby-prawn libpdf-api2-perl nodejs npm fontconfig
	fonts-noto-core fonts-droid-fallback fonts-ipafont-gothic fonts-nanum)
NPM=(pdfkit@0.15.0 pdf-lib@1.17.1 @pdf-lib/fontkit@1.1.1 jspdf@2.5.1)

if (($# > 1)); then
	echo "generated-pdfs.sh [FOLDER], not $*" >&2
	exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${1:-$work/files}
mkdir -p "$folder"

as_root() { if ((EUID == 0)); then "$@"; else sudo -n "$@"; fi; }

if command -v apt-get >/dev/null; then
	missing=()
	for package in "${DEBIAN[@]}"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	if ((${#missing[@]} > 0)); then
		echo "installing ${missing[*]}"
		as_root apt-get update -qq >/dev/null 2>&1 || true
		for package in "${missing[@]}"; do
			as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || echo "NOT installed: $package"
		done
	fi
fi
npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=silent "${NPM[@]}" >/dev/null 2>&1 </dev/null || echo "NOT installed: ${NPM[*]}"

node conformance/families/docling/corpus/generated/generate.mjs "$folder"
compgen -G "$folder/*.pdf" >/dev/null || { echo "No program made a file. NOTHING was compared."; exit 75; }
command -v pdftotext >/dev/null || { echo "pdftotext is not there. NOTHING was compared."; exit 75; }

go build -o "$work/refserver" ./cmd/refserver
failed=0
MAINSTAY_GENERATED=$folder MAINSTAY_GENERATED_REPORT=$work/report MAINSTAY_CORPUS_SERVER=$work/refserver \
	go test -count=1 -timeout 30m -run '^TestGenerated$' ./conformance/families/docling/corpus >"$work/test" 2>&1 || failed=1
if [[ -f $work/report ]]; then
	cat "$work/report"
else
	cat "$work/test"
fi
exit "$failed"
