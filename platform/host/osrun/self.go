package osrun

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

var (
	//go:embed self.js
	selfJS string
	//go:embed self.ps1
	selfPS string
	//go:embed self_app.js
	selfApp string
	//go:embed self_kit.js
	selfKit string
)

// SelfScripts returns the scripts of this package, for tests.
func SelfScripts() []Script {
	return []Script{NewScript("self/engine.js", selfJS), NewScript("self/engine.ps1", selfPS), NewScript("self/app.js", selfApp), NewScript("self/kit.js", selfKit)}
}

// selfText contains characters that transports often break: quotes, a line end, a non-ASCII letter
// and a character beyond 16 bits.
const selfText = "a \"b\" 'c'\n\u0105 \U0001F50C"

// selfWait is the timeout of one self-test call; a system dialog may be open.
const selfWait = 10 * time.Second

// SelfTest runs a script without effects and checks its answer.
func SelfTest(ctx context.Context, r Runner, e Engine) error {
	script := SelfScripts()[0]
	if e == PowerShell {
		script = SelfScripts()[1]
	}
	var out struct {
		Sum  int    `json:"sum"`
		Text string `json:"text"`
	}
	in := map[string]any{"a": 40, "b": 2, "text": selfText}
	if err := r.Run(ctx, Call{Script: script, In: in}, &out); err != nil {
		return err
	}
	if out.Sum != 42 || out.Text != selfText {
		return fmt.Errorf("%s: wrong answer to the self-test (%d, %q)", script.Name, out.Sum, out.Text)
	}
	return nil
}

// AutomationAccess is the automation permission for a macOS app.
type AutomationAccess struct {
	App App
	Err error // nil if access is allowed, otherwise an *Error; its kind is NotRunning if the app is not running
}

// CheckAutomation sends a read-only request to each running app that Hob controls. It starts no
// app. macOS shows its permission dialog if the user has not decided yet.
func CheckAutomation(ctx context.Context, r Runner) []AutomationAccess {
	var out []AutomationAccess
	for _, x := range []struct {
		app App
		of  string // the elements that the app counts
	}{
		{App{ID: "com.apple.mail", Name: "Mail"}, "accounts"},
		{App{ID: "com.apple.Notes", Name: "Notes"}, "folders"},
		{App{ID: "com.apple.AddressBook", Name: "Contacts"}, "groups"},
	} {
		err := r.Run(ctx, Call{Script: SelfScripts()[2], App: x.app, In: map[string]any{"app": x.app.ID, "of": x.of}, Wait: selfWait}, nil)
		out = append(out, AutomationAccess{x.app, err})
	}
	for entity, x := range []struct {
		name, permission string
	}{{"Calendar", "calendars"}, {"Reminders", "reminders"}} {
		out = append(out, AutomationAccess{App{Name: x.name}, kitLeave(ctx, r, entity, x.name, x.permission)})
	}
	return out
}

// kitLeave returns nil if this process has full access to the events or reminders in EventKit
// (EKAuthorizationStatus: 0 is not determined, 3 full access).
func kitLeave(ctx context.Context, r Runner, entity int, name, permission string) error {
	var out struct {
		Status int `json:"status"`
	}
	script := SelfScripts()[3]
	if err := r.Run(ctx, Call{Script: script, In: map[string]any{"entity": entity}, Wait: selfWait}, &out); err != nil {
		return err
	}
	e := &Error{Script: script.Name, App: name}
	switch out.Status {
	case 3:
		return nil
	case 0:
		e.Kind, e.Cause, e.Remedy = SetupRequired, "macOS has not asked you yet whether Hob may control the app", "let Hob use the app once and allow access in the dialog"
		return e
	}
	e.Cause = "access was denied"
	return e.Allow(permission)
}
