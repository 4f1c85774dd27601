#!/usr/bin/env bash
# Documents that others made, converted by the reference server and compared with what
# pdftotext, pandoc, docx2txt, SheetJS and officeparser read from them. The documents and
# the bars are in conformance/families/docling/corpus.
#   corpus.sh [PART]   all documents; only those with PART in their name
#   corpus.sh --floors writes what each document reaches as its floor, less a hundredth
# Exit 0: every format reaches its bar and every document its floor; 1: one does not, or a
# document is refused;
# 2: bad argument; 75: not all documents or programs could be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
corpus=$PWD/conformance/families/docling/corpus

PACKAGES=(pandoc-wasm@1.1.0 xlsx@0.18.5 officeparser@7.8.0)

if (($# > 1)); then
	echo "corpus.sh [PART | --floors], not $*" >&2
	exit 2
fi
floors=
if [[ ${1:-} == --floors ]]; then
	floors=$corpus/floors.tsv
	shift
fi

work=$(mktemp -d)
cache=${MAINSTAY_CORPUS_CACHE:-${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/mainstay-corpus}
files=$cache/files
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir -p "$files"

as_root() {
	if ((EUID == 0)); then
		"$@"
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		sudo -n "$@"
	else
		return 1
	fi
}

install_package() {
	command -v apt-get >/dev/null || return 1
	echo "installing $1"
	as_root apt-get update -qq >/dev/null 2>&1 || true
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1
}

# The programs that we are compared with.
install_programs() {
	command -v pdftotext >/dev/null || install_package poppler-utils || return 1
	# Without its tables pdftotext reads no Chinese, Japanese or Korean, silently.
	[[ -d /usr/share/poppler/cMap ]] || ! command -v apt-get >/dev/null || install_package poppler-data || return 1
	command -v docx2txt >/dev/null || install_package docx2txt || return 1
	local missing=() package
	for package in "${PACKAGES[@]}"; do
		[[ -f $cache/node_modules/${package%@*}/package.json ]] &&
			grep -qF "\"version\": \"${package##*@}\"" "$cache/node_modules/${package%@*}/package.json" || missing+=("$package")
	done
	if ((${#missing[@]} > 0)); then
		command -v npm >/dev/null || return 1
		echo "installing ${PACKAGES[*]}"
		timeout 300 npm install --prefix "$cache" --ignore-scripts --no-audit --no-fund --loglevel=silent "${PACKAGES[@]}" >/dev/null 2>&1 </dev/null || return 1
	fi
	command -v node >/dev/null
}

# sources are the fields of the manifest, without comments.
sources() { grep -v '^#' "$corpus/manifest.tsv"; }

# debian_sources: apt with the source packages of the distribution that this machine has.
debian_sources() {
	if [[ -z ${apt_options:-} ]]; then
		local dir=$work/apt file
		mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/cache/archives/partial"
		for file in /etc/apt/sources.list.d/debian.sources; do
			[[ ! -f $file ]] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$dir/parts/debian.sources"
		done
		if [[ -f /etc/apt/sources.list ]]; then
			sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$dir/parts/debian.list"
		fi
		apt_options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$dir/parts" -o "Dir::State::lists=$dir/lists"
			-o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root)
		apt-get "${apt_options[@]}" update -qq >/dev/null 2>&1 || return 1
	fi
	apt-get "${apt_options[@]}" -qq source --download-only "$1" >/dev/null 2>&1
}

# unpack KIND PACKAGE VERSION FOLDER: lays out the files of a package below FOLDER/tree.
unpack() {
	local kind=$1 package=$2 version=$3 folder=$4 archive
	mkdir -p "$folder/tree"
	cd "$folder"
	case $kind in
	go) # its own folder of the module cache is read-only and named by what go says
		archive=$(cd "$here" && go mod download -json "$package@$version" 2>/dev/null | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p') || return 1
		[[ -n $archive ]] && rmdir tree && ln -s "$archive" tree
		;;
	npm)
		archive=$(npm pack --silent "$package@$version" 2>/dev/null </dev/null) && tar -xzf "$archive" -C tree --strip-components=1
		;;
	deb)
		command -v apt-get >/dev/null && apt-get download -qq "$package=$version" >/dev/null 2>&1 && dpkg-deb -x ./*.deb tree
		;;
	debsrc)
		command -v apt-get >/dev/null && debian_sources "$package=$version" && tar -xf ./*.orig.tar.* -C tree --strip-components=1
		;;
	*)
		return 1
		;;
	esac
}

# fetch: brings the documents that the cache lacks, package by package.
fetch() {
	local format kind package version path sum rest n=0 folder from
	local -A laid=()
	while IFS=$'\t' read -r format kind package version path sum rest; do
		[[ ! -f $files/$sum.$format ]] || continue
		if [[ -z ${laid[$package]:-} ]]; then
			n=$((n + 1))
			laid[$package]=$work/package-$n
			echo "fetching $kind $package $version"
			(unpack "$kind" "$package" "$version" "$work/package-$n") || echo "NOT fetched: $kind $package $version"
		fi
		folder=${laid[$package]}/tree
		from=$folder/$path
		[[ -f $from ]] || { echo "NOT there: $path of $package $version"; continue; }
		if [[ $(sha256sum <"$from") != "$sum  -" ]]; then
			echo "NOT the file that the manifest means: $path of $package $version"
			continue
		fi
		cp "$from" "$work/new" && chmod 600 "$work/new" && mv "$work/new" "$files/$sum.$format"
	done < <(sources)
}

incomplete() {
	echo "################################################################"
	echo "$1"
	echo "################################################################"
	exit 75
}

fetch
have=0 all=0
while IFS=$'\t' read -r format _ _ _ _ sum _; do
	all=$((all + 1))
	[[ ! -f $files/$sum.$format ]] || have=$((have + 1))
done < <(sources)
install_programs || incomplete "The programs to compare with could not be had. NOTHING was compared."
((have > 0)) || incomplete "No document could be fetched. NOTHING was compared."

cp "$corpus/references.mjs" "$cache/"
# A text is kept as long as the program that read it, and its tables, stay the same.
texts=$cache/texts-$({
	printf '%s\n' "${PACKAGES[@]}"
	pdftotext -v 2>&1 | head -n 1
	ls /usr/share/poppler/cMap 2>/dev/null || true
	cat "$corpus/references.mjs" "$(command -v docx2txt)"
} | sha256sum | cut -c 1-16)
mkdir -p "$texts"
go build -o "$work/refserver" ./cmd/refserver
failed=0
MAINSTAY_CORPUS_FILES=$files MAINSTAY_CORPUS_TEXTS=$texts MAINSTAY_CORPUS_NODE=node MAINSTAY_CORPUS_SCRIPT=$cache/references.mjs \
	MAINSTAY_CORPUS_SERVER=$work/refserver MAINSTAY_CORPUS_REPORT=$work/report MAINSTAY_CORPUS_ONLY=${1:-} MAINSTAY_CORPUS_FLOORS=$floors \
	go test -count=1 -timeout 30m -run '^TestCorpus$' ./conformance/families/docling/corpus >"$work/test" 2>&1 || failed=1
if [[ -f $work/report ]]; then
	cat "$work/report"
else
	cat "$work/test"
fi
((failed == 0)) || exit 1
((have == all)) || incomplete "$((all - have)) of $all documents could not be fetched. They were NOT compared."
