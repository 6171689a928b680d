// Package floors tests the shape of the tree: which package may import which, that the test world
// stays out of the binary, how large a package may become, and that the map in a package's comment
// names its files.
//
// The linter has the rules about imports (.golangci.yml). The tests here run the linter on packages
// that have only imports: the current ones, which it must accept, and forbidden ones, each of which
// it must refuse.
package floors
