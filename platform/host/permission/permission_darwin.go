package permission

import (
	"os"

	"github.com/ebitengine/purego"
)

// List returns the permissions of this process whose state is known.
func List() []Permission {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	const at = "/System/Library/Frameworks/"
	return listPermissions(Options{
		Home: home, Getenv: os.Getenv,
		Trusted: func() (bool, error) {
			return callPredicate(at+"ApplicationServices.framework/ApplicationServices", "AXIsProcessTrusted")
		},
		MayCapture: func() (bool, error) {
			return callPredicate(at+"CoreGraphics.framework/CoreGraphics", "CGPreflightScreenCaptureAccess")
		},
	})
}

// callPredicate calls a system function without arguments that returns a boolean.
func callPredicate(library, name string) (bool, error) {
	lib, err := purego.Dlopen(library, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
	if err != nil {
		return false, err
	}
	at, err := purego.Dlsym(lib, name)
	if err != nil {
		return false, err
	}
	var fn func() bool
	purego.RegisterFunc(&fn, at)
	return fn(), nil
}
