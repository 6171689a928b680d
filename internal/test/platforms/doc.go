// Package platforms tests that Tidemark compiles for systems other than the one that runs the tests.
// It checks types only, which takes half a minute for each. Builds for each system would compile
// everything again, the standard library too.
package platforms
