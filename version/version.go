// Package version says which build of piecebench this is.
package version

// Number is piecebench's version, of all its programs.
const Number = "0.1.0"

// Revision is the git commit of the build, with "-dirty" after it where the
// checkout had changes. The Makefile and the Dockerfiles set it with -ldflags:
// Go's own record of the commit is missing in an image, which is built without
// .git, and in a checkout that another user owns.
var Revision = "unknown"

// String returns both, as --version prints them.
func String() string { return Number + " (" + Revision + ")" }
