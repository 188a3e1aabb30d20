// Package quartz queries macOS for windows, for the keyboard focus, and for the permissions of this
// process (CoreGraphics, Accessibility). It opens the system's libraries at run time, without cgo.
// It is empty on other systems. Only packages below platform/host/desktop use it.
//
// All calls run in this process, so that permissions granted to Hob apply. None of this was tested
// on a Mac. Each function is documented with its prototype from Apple's headers. A missing library
// or symbol is an error and does not cause a crash.
package quartz
