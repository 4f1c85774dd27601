//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package testmain_test

const plantedVariable = ""

var planted map[string]interface{ Run() int }
