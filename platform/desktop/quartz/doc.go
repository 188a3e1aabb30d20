// Package quartz asks macOS for windows, for where keys go and for what this
// process is allowed to do there (CoreGraphics, Accessibility). The libraries of
// the system are opened at run time, without cgo. It is of macOS, and empty
// elsewhere; its callers are the packages beside it.
//
// All of it runs within this process, so that what the owner allows Hob counts.
// Nothing here was run on a Mac; prototypes of the vendor's headers stand beside
// each function. A library or a name that is missing is an error and no crash.
package quartz
