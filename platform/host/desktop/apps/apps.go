// Package apps finds the applications of this desktop by name and starts them. It applies no
// policy: callers decide which application may be started and which item it opens.
//
// On Linux it reads desktop entries and starts them without a shell, if possible through the user's
// service manager, so that they outlive this process. On macOS it uses the application folders and
// open(1). On Windows it uses the start menu (Get-StartApps) and the shell's application folder.
// Marker is set in the environment of started programs: like all programs that Hob starts, they do
// not have the user's permissions.
package apps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
	"hob/platform/text/sorting"
)

// Errors of a Finder.
var (
	ErrNone    = errors.New("application not found")
	ErrSession = errors.New("no desktop session")
	ErrUnsure  = errors.New("unknown whether the application was started")
	ErrItem    = errors.New("application does not support opening this kind of item")
)

// App is an installed application.
type App struct {
	ID      string // id in the system: "firefox", "com.apple.Safari", an AUMID
	Name    string // name as shown in menus
	File    string // file that describes how to start the application; "" if there is none
	Command []string
	// Terminal means that it runs in a terminal.
	Terminal bool
	// Shared means that it was installed for all users, which requires administrator rights.
	Shared bool
	Opens  Opens

	words []string // search words, in lower case
	at    int      // index in Command at which the item to open is inserted
}

// Opens states which items an application declares it can open.
type Opens uint8

// Kinds of items that an application opens.
const (
	Nothing Opens = iota
	Files
	Addresses // addresses and files
)

// Takes reports whether an application can open item, a file or an address, when it starts.
func (a App) Takes(item string) bool {
	if filepath.IsAbs(item) { // an absolute path is a file; anything else is an address
		return a.Opens >= Files
	}
	return a.Opens == Addresses
}

// commandWithItem returns the command line that opens an item.
func (a App) commandWithItem(item string) ([]string, error) {
	switch {
	case item == "":
		return a.Command, nil
	case !a.Takes(item) || a.at < 1 || a.at > len(a.Command): // the item must follow the program and not begin with a dash
		return nil, ErrItem
	}
	return slices.Insert(slices.Clone(a.Command), a.at, item), nil
}

// Options of New; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Marker is the name of a variable that is set in the environment of started programs; ""
	// sets none.
	Marker string
	// Scripts runs the scripts for Windows; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout of a search or a start (default 10 s).
	Wait time.Duration
}

// Finder finds and starts applications. Its methods may be called concurrently.
type Finder struct{ opt Options }

// New returns a Finder. It reads no file yet.
func New(o Options) *Finder {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	return &Finder{o}
}

// maxName is the maximum length of an application's name, in bytes.
const maxName = 200

// Find returns the application that best matches name. If several or no applications match, the
// error lists similar names.
func (f *Finder) Find(ctx context.Context, name string) (App, error) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return App{}, errors.New("invalid application name")
	}
	all, err := f.List(ctx)
	if err != nil {
		return App{}, err
	}
	return findAppByName(all, name)
}

// List returns the applications in order of their names.
func (f *Finder) List(ctx context.Context) ([]App, error) {
	ctx, cancel := context.WithTimeout(ctx, f.opt.Wait)
	defer cancel()
	all, err := f.listApps(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the applications: %w", err)
	}
	sorting.StableByFunc(all, func(a, b App) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return all, nil
}

// Start starts an application and opens item with it: the absolute path of a file, an address, or
// "" for none. A nil error means that the system accepted the request; Start does not wait for the
// application.
func (f *Finder) Start(ctx context.Context, a App, item string) error {
	ctx, cancel := context.WithTimeout(ctx, f.opt.Wait)
	defer cancel()
	if err := f.launchApp(ctx, a, item); err != nil {
		return fmt.Errorf("start %s: %w", a.Name, err)
	}
	return nil
}

// findAppByName returns the best match for name. It tries these criteria in order: the application
// has this name or id; it has this search word; its name begins with name; its name contains name
// as a word; its name contains name anywhere (at least 4 bytes).
func findAppByName(all []App, name string) (App, error) {
	want := strings.ToLower(name)
	for _, fits := range []func(App) bool{
		func(a App) bool { return strings.EqualFold(a.Name, name) || strings.EqualFold(a.ID, name) },
		func(a App) bool { return slices.Contains(a.words, want) },
		func(a App) bool { return strings.HasPrefix(strings.ToLower(a.Name), want+" ") },
		func(a App) bool { return slices.Contains(strings.Fields(strings.ToLower(a.Name)), want) },
		func(a App) bool { return len(want) > 3 && strings.Contains(strings.ToLower(a.Name), want) },
	} {
		var found []App
		for _, a := range all {
			if fits(a) && !slices.ContainsFunc(found, func(b App) bool { return b.Name == a.Name }) {
				found = append(found, a)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return App{}, fmt.Errorf("%q matches several applications: %s", name, joinAppNames(found))
		}
	}
	return App{}, fmt.Errorf("%w: %q%s", ErrNone, name, similarNames(all, want))
}

func joinAppNames(list []App) string {
	var out []string
	for _, a := range list[:min(8, len(list))] {
		out = append(out, a.Name)
	}
	return strings.Join(out, ", ")
}

// similarNames returns a suffix for an error that lists the names with the same first 3 bytes, or
// "" if there are none.
func similarNames(all []App, want string) string {
	var close []App
	for _, a := range all {
		n := min(3, len(want))
		if n > 0 && strings.HasPrefix(strings.ToLower(a.Name), want[:n]) {
			close = append(close, a)
		}
	}
	if len(close) == 0 {
		return ""
	}
	return "; there is " + joinAppNames(close)
}
