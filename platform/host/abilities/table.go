// Package abilities tests each ability of this machine that Hob uses, through the same packages as
// Hob's tools, and reports a table that a user can send to the project. The table contains none of
// the user's content, names or paths.
//
// A test reads at most one item and discards it. Three tests have an effect that the user notices:
// a notification, a spoken word, and a secret that is stored and deleted. Options.Allow asks for
// each of them. The package starts no daemon and calls no model.
package abilities

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/host/desktop/session"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// Result is the result of a test.
type Result string

// Possible results.
const (
	Works      Result = "works"
	Fails      Result = "fails"    // the ability should work on this system
	Missing    Result = "missing"  // a permission or a program is missing, or an app is not running
	Skipped    Result = "skipped"  // not tried
	NotOffered Result = "not here" // this system does not offer the ability
	NotUsed    Result = "not used" // Hob uses no app of this system for the ability
)

const (
	tryTime   = 10 * time.Second
	askTime   = 2 * time.Minute // includes the time to answer a dialog of the system
	maxDetail = 200             // in bytes
)

// Row is the outcome for one ability.
type Row struct {
	Ability   string `json:"ability"`
	Mechanism string `json:"mechanism"`
	Result    Result `json:"result"`
	Detail    string `json:"detail,omitempty"`
	Time      int64  `json:"ms"`
	Remedy    string `json:"remedy,omitempty"`
}

// Ability is a capability of Hob on this machine.
type Ability struct {
	Name, Mechanism string
	// Effect describes an effect that the user notices, or is "" if there is none. Asks names the
	// permission that the system may request in a dialog, or is "".
	Effect, Asks string
	// Quiet runs instead of Try if the user has not allowed the effect. If it is nil, the ability
	// is skipped.
	Quiet func(context.Context) (said string, err error)
	// Try tests the ability. It is nil if the system does not offer the ability or, with Unused, if
	// Hob does not use the system for it. Instead then contains the reason or an alternative.
	Try     func(context.Context) (said string, err error)
	Instead string
	Unused  bool
}

// Options describe the machine.
type Options struct {
	// System is the GOOS whose abilities are tested (default: this one). For another system only
	// the abilities that run scripts are listed.
	System  string
	Paths   system.Paths
	Secrets system.Secrets
	Scripts osrun.Runner // nil creates a runner
	Getenv  func(string) string
	Home    string // the user's home (default: os.UserHomeDir)
	// Pid is the process id of the running daemon, 0 if none.
	Pid int
	// Allow asks whether an ability with an effect or a dialog may be tested; nil allows nothing.
	Allow func(Ability) bool
	// Each is called with each row as soon as the row is known; optional.
	Each func(Row)
}

// Run tests the abilities one after another, so that dialogs of the system do not overlap.
func Run(ctx context.Context, o Options) []Row {
	if o.System == "" {
		o.System = runtime.GOOS
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{})
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without a known home there is no path to remove
	}
	clean := o.newCleaner()
	var out []Row
	for _, a := range o.Abilities() {
		if ctx.Err() != nil {
			break
		}
		r := o.tryAbility(ctx, a, clean)
		out = append(out, r)
		if o.Each != nil {
			o.Each(r)
		}
	}
	return out
}

func (o Options) tryAbility(ctx context.Context, a Ability, clean func(string) string) Row {
	r := Row{Ability: a.Name, Mechanism: a.Mechanism, Result: Skipped}
	try := a.Try
	if try == nil {
		if r.Result, r.Detail = NotOffered, a.Instead; a.Unused {
			r.Result = NotUsed
		}
		return r
	}
	if (a.Effect != "" || a.Asks != "") && (o.Allow == nil || !o.Allow(a)) {
		if try = a.Quiet; try == nil {
			r.Detail, r.Remedy = "requires your consent: "+strings.TrimSpace(a.Effect+" "+a.Asks), "hob selftest --yes"
			return r
		}
	}
	limit := tryTime
	if a.Asks != "" && o.Allow != nil {
		limit = askTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	said, err := try(ctx)
	r.Time = time.Since(begin).Milliseconds()
	r.Result, r.Detail, r.Remedy = classifyError(ctx, limit, err)
	if err == nil {
		r.Detail = said
	}
	r.Detail, r.Remedy = clean(r.Detail), clean(r.Remedy)
	return r
}

// classifyError returns the result for an error, with its cause and its remedy. The text of an app's
// error may quote its content, so only its kind is shown.
func classifyError(ctx context.Context, limit time.Duration, err error) (r Result, detail, remedy string) {
	if err == nil {
		return Works, "", ""
	}
	if e, ok := errors.AsType[*osrun.Error](err); ok {
		detail = strings.TrimSpace(e.App + " " + string(e.Kind))
		switch e.Kind {
		case osrun.Unsupported, osrun.NotInstalled:
			return NotOffered, detail, e.Remedy
		case osrun.NotRunning, osrun.Denied, osrun.PolicyBlocked, osrun.SetupRequired:
			return Missing, detail, e.Remedy
		}
		return Fails, detail, e.Remedy
	}
	detail, remedy = textnorm.SplitRemedy(strings.Join(strings.Fields(err.Error()), " "))
	switch {
	case ctx.Err() != nil:
		return Fails, "no answer within " + limit.String(), "check the screen for a dialog"
	case errors.Is(err, errors.ErrUnsupported):
		return NotOffered, detail, remedy
	case errors.Is(err, session.ErrNone), errors.Is(err, system.ErrNoKeychain), errors.Is(err, system.ErrLocked), errors.Is(err, osrun.ErrNoProgram), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, errMissing):
		return Missing, detail, remedy
	}
	return Fails, detail, remedy
}

// newCleaner returns a function that removes the names of the user and of the machine from a text.
func (o Options) newCleaner() func(string) string {
	type name struct{ private, shown string }
	var names []name
	add := func(private, shown string) {
		if len(private) > 2 {
			names = append(names, name{private, shown})
		}
	}
	for _, p := range []string{o.Paths.Home, o.Paths.Data, o.Paths.Logs, o.Paths.Runtime} {
		add(p, "HOB")
	}
	add(o.Home, "~")
	add(filepath.ToSlash(o.Home), "~")
	add(filepath.Base(o.Home), "USER")
	if u, err := user.Current(); err == nil {
		add(u.HomeDir, "~")
		add(u.Username, "USER")
		add(u.Name, "USER")
		add(u.Uid, "UID")
	}
	if host, err := os.Hostname(); err == nil {
		add(host, "MACHINE")
	}
	sorting.StableByFunc(names, func(a, b name) int { return len(b.private) - len(a.private) })
	return func(s string) string {
		for _, n := range names {
			s = strings.ReplaceAll(s, n.private, n.shown)
		}
		if len(s) > maxDetail {
			s = s[:maxDetail]
			for !utf8.ValidString(s) {
				s = s[:len(s)-1]
			}
			s += "…"
		}
		return s
	}
}
