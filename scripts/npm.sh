# shellcheck shell=bash
# Node.js and packages of npm, for the scripts beside this file that source it. They set
# cache, the folder of the packages, and NODE_MAJOR, the oldest Node.js that will do.

new_enough() { "$1" -e "process.exit(parseInt(process.versions.node) >= $NODE_MAJOR ? 0 : 1)" >/dev/null 2>&1; }

npm_install() {
	command -v npm >/dev/null || return 1
	echo "installing ${*#--ignore-scripts}"
	timeout 300 npm install --prefix "$cache" --no-audit --no-fund --loglevel=silent "$@" >/dev/null 2>&1 </dev/null
}

# npm_packages NAME@VERSION…: installs them if one of them is not in the cache.
npm_packages() {
	mkdir -p "$cache"
	local package missing=
	for package in "$@"; do
		if [[ ! -f $cache/node_modules/${package%@*}/package.json ]]; then missing=yes; fi
	done
	if [[ -n $missing ]]; then npm_install --ignore-scripts "$@"; fi
}

# find_node sets node.
find_node() {
	node=node
	if new_enough "$node"; then return; fi
	node=$cache/node_modules/node/bin/node
	[[ -x $node ]] || npm_install "node@$NODE_MAJOR" || return 1
	new_enough "$node"
}
