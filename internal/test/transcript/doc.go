// Package transcript compares the outputs of commands with those on a page, apart from the parts
// that differ from run to run.
//
//	masks.go     outputs without times, digests, sizes and numbers, and the comparison
//	shell.go     runs commands of a page with the addresses and folders of a test
//	node.go      starts a node by a command of a page
//	command.go   builds the command once for a package of tests
package transcript
