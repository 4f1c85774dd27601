#!/usr/bin/env bash
# Looks at the HTML reports as a browser does: accessibility by axe-core, no
# request, no error, filters, and the page without script; in light and dark,
# wide and narrow. Usage: scripts/html-check.sh [FOLDER for screenshots]
# Needs Go, npm and a Chromium (CHROMIUM names it, else it is looked for).
# Exit 0: nothing to complain about; 1: faults; 75: something could not be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

AXE_VERSION=4.14.1
PUPPETEER_VERSION=25.16.0

chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [[ -z $chromium ]]; then
	echo "no Chromium: install one (Debian: apt-get install chromium) or name it in CHROMIUM" >&2
	exit 75
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shots=${1:-$work/shots}
mkdir -p "$work/pages" "$shots"

go test ./conformance/report -count=1 -run TestHTML_Pages -args -pages "$work/pages"
npm install --prefix "$work" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
	"axe-core@$AXE_VERSION" "puppeteer-core@$PUPPETEER_VERSION" >/dev/null || {
	echo "the packages of npm could not be installed" >&2
	exit 75
}
cp scripts/html-check.mjs "$work/"
node "$work/html-check.mjs" "$chromium" "$work/pages" "$shots"
