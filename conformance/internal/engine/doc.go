// Package engine runs scenarios against a server and reports which checks hold. It is given
// its scenarios as a [Suite], with the texts of their checks read by [Complete].
package engine
