// Package osruntest provides test doubles for platform/host/osrun: a Mac whose osascript is a
// JavaScript engine with JXA's object model, and linters for scripts. Only tests use it.
package osruntest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/dop251/goja"

	"hob/platform/host/osrun"
)

//go:embed fake.js
var fakeJS string

//go:embed bridge.js
var bridgeJS string

// Mac simulates a Mac. It is a Runner: the real osrun.Scripts with test doubles of osascript and open. Its methods
// may be called concurrently.
type Mac struct {
	*osrun.Scripts
	t testing.TB

	mu     sync.Mutex
	vm     *goja.Runtime
	world  *goja.Object
	events []string
	faults []fault
	opened []string
}

type fault struct {
	text   string
	number int
	said   string
	hang   bool
}

// NewMac returns a Mac with the given world: {"apps": {bundle id: {"running": true, "dict":
// {class: {"properties": [], "elements": {name: class}, "objects": {property:
// class}, "fixed": []}}, "root": {element: [{"__class": "Note", "name": "x"}]}}},
// "eventkit": {"status": [3, 3], "calendars": [], "events": [], "reminders": []}}.
// Dates are {"$date": milliseconds}.
func NewMac(t testing.TB, world any) *Mac {
	t.Helper()
	m := &Mac{t: t, vm: goja.New()}
	m.Scripts = osrun.NewScripts(osrun.Options{Getenv: func(string) string { return "" }, Output: m.runProgram})
	text, err := json.Marshal(world)
	if err != nil {
		t.Fatal(err)
	}
	parse, ok := goja.AssertFunction(m.vm.Get("JSON").ToObject(m.vm).Get("parse"))
	if !ok {
		t.Fatal("there is no JSON.parse")
	}
	v, err := parse(goja.Undefined(), m.vm.ToValue(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	m.world = v.ToObject(m.vm)
	if m.world.Get("apps") == nil {
		m.evalScript("world.apps = {}")
	}
	return m
}

// evalScript evaluates JavaScript with access to the world and returns its value as JSON.
func (m *Mac) evalScript(text string) string {
	m.t.Helper()
	if err := m.vm.Set("world", m.world); err != nil {
		m.t.Fatal(err)
	}
	v, err := m.vm.RunString("JSON.stringify((function () { return " + text + " })())")
	if err != nil {
		m.t.Fatal(err)
	}
	m.vm.GlobalObject().Delete("world") //nolint:errcheck // cannot fail: the name exists
	if goja.IsUndefined(v) {
		return ""
	}
	return v.String()
}

// EvalWorld evaluates an expression over "world" and returns it as JSON.
func (m *Mac) EvalWorld(expression string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.evalScript(expression)
}

// Fail makes every Apple event whose line contains text fail with number and a message in another language; see
// Events for the lines.
func (m *Mac) Fail(text string, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fault{text: text, number: number, said: "„Programm“ hat einen Fehler erhalten: \u2019Nö\u2019 (" + fmt.Sprint(number) + ")"})
}

// Hang makes every Apple event whose line contains text block forever.
func (m *Mac) Hang(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fault{text: text, hang: true})
}

// ClearFaults removes all faults.
func (m *Mac) ClearFaults() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = nil
}

// Events returns the Apple events since the last call, for example "com.apple.Notes get
// app.notes.name"; events of EventKit begin with "eventkit".
func (m *Mac) Events() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events
	m.events = nil
	return e
}

// Opened returns the apps that /usr/bin/open has opened.
func (m *Mac) Opened() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened
}

// runProgram simulates the programs of a Mac.
func (m *Mac) runProgram(ctx context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case cmd.Path == "/usr/bin/open" && len(cmd.Args) == 5:
		id := cmd.Args[4]
		m.opened = append(m.opened, id)
		m.evalScript(fmt.Sprintf("world.apps[%q] && (world.apps[%[1]q].running = true)", id))
		return nil, nil
	case cmd.Path != "/usr/bin/osascript" || len(cmd.Args) != 5 || cmd.Args[2] != "JavaScript":
		return nil, &osrun.Failure{Program: cmd.Path, Err: fmt.Errorf("no such program: %q", cmd.Args)}
	}
	return m.runOsascript(ctx, cmd.Args[4], in)
}

// runOsascript runs a script in a separate context, as a new process would.
func (m *Mac) runOsascript(ctx context.Context, script string, in []byte) ([]byte, error) {
	globals := map[string]any{"world": m.world, "event": func(app, text string) { m.recordEvent(ctx, app, text) }}
	for k, v := range globals {
		if err := m.vm.Set(k, v); err != nil {
			return nil, err
		}
	}
	if err := m.world.Set("stdin", string(in)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { m.vm.Interrupt(ctx.Err()) })
	defer func() { stop(); m.vm.ClearInterrupt() }()
	// Each script runs in its own function scope, so that it leaves no state for other scripts and
	// cannot access the test double.
	v, err := m.vm.RunString("(function (w) { var world, event, Application = w.Application, ObjC = w.ObjC, $ = w.$, Ref = w.Ref, Path = w.Path, delay = w.delay, console = w.console;\n" +
		script + "\nreturn run([]); })((function (world, event) {\n" + fakeJS + bridgeJS + "\nreturn makeWorld(world, event); })(world, event))")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &osrun.Failure{Program: "osascript", Said: "0:0: execution error: Error: " + err.Error() + " (-2700)", Err: errors.New("exit status 1")}
	}
	return []byte(v.String() + "\n"), nil
}

// recordEvent records an Apple event and fails if the test asked for a fault.
func (m *Mac) recordEvent(ctx context.Context, app, text string) {
	line := app + " " + text
	m.events = append(m.events, line)
	for _, f := range m.faults {
		if !strings.Contains(line, f.text) {
			continue
		}
		if f.hang {
			<-ctx.Done()
			panic(m.vm.ToValue("interrupted"))
		}
		e, err := m.vm.New(m.vm.Get("Error"), m.vm.ToValue(f.said))
		if err != nil {
			panic(err)
		}
		if err := e.Set("errorNumber", f.number); err != nil {
			panic(err)
		}
		panic(m.vm.ToValue(e))
	}
}
