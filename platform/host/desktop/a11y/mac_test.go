package a11y

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

type thing = map[string]any

// newElement returns an element of a window in the form of System Events.
func newElement(role, name string, more thing, kids ...thing) thing {
	e := thing{"__class": "UIElement", "role": role, "name": name, "subrole": "", "description": nil, "value": nil, "uiElements": kids, "actions": []thing{}}
	if len(kids) == 0 {
		e["uiElements"] = []thing{}
	}
	for k, v := range more {
		e[k] = v
	}
	return e
}

func withActions(names ...string) thing {
	list := []thing{}
	for _, n := range names {
		list = append(list, thing{"__class": "Action", "name": n})
	}
	return thing{"actions": list}
}

// screenOf returns a Mac with an editor in front and a browser behind it.
func screenOf(kids ...thing) thing {
	win := func(name string, kids ...thing) thing { return newElement("AXWindow", name, nil, kids...) }
	proc := func(name string, pid int, front bool, wins ...thing) thing {
		return thing{"__class": "Process", "name": name, "unixId": pid, "frontmost": front, "backgroundOnly": false, "windows": wins}
	}
	words := []string{"role", "subrole", "name", "description", "value"}
	return thing{"apps": thing{"com.apple.systemevents": thing{
		"running": false,
		"root":    thing{"processes": []thing{proc("TextEdit", 11, true, win("letter", kids...), win("other")), proc("Safari", 12, false, win("Forum", newElement("AXLink", "Pay", withActions("AXPress"))))}},
		"dict": thing{
			"Application": thing{"properties": []string{}, "elements": thing{"processes": "Process"}},
			"Process":     thing{"properties": []string{"name", "unixId", "frontmost", "backgroundOnly"}, "elements": thing{"windows": "UIElement"}},
			"UIElement":   thing{"properties": words, "elements": thing{"uiElements": "UIElement", "actions": "Action"}},
			"Action":      thing{"properties": []string{"name"}, "elements": thing{}},
		},
	}}}
}

func buildLetter() []thing {
	password := newElement("AXTextField", "Password", thing{"subrole": "AXSecureTextField", "value": "hunter2"})
	return []thing{
		newElement("AXGroup", "", nil,
			newElement("AXTextArea", "", thing{"description": "Text", "value": "Dear\u2028 世界 \"x\""}),
			newElement("AXButton", "Save", withActions("AXShowMenu", "AXPress")), password),
		newElement("AXButton", "Save", nil),
	}
}

func TestMacRead(t *testing.T) {
	m := osruntest.NewMac(t, screenOf(buildLetter()...))
	list, more, err := macRead(t.Context(), m, "")
	if err != nil || more || len(list) != 6 {
		t.Fatalf("%d %v %v: %+v", len(list), more, err, list)
	}
	want := []Node{
		{Ref: "0", Role: "AXWindow", Name: "letter"},
		{Ref: "0.0", Role: "AXGroup", Depth: 1},
		{Ref: "0.0.0", Role: "AXTextArea", Name: "Text", Text: "Dear\u2028 世界 \"x\"", Takes: true, Depth: 2},
		{Ref: "0.0.1", Role: "AXButton", Name: "Save", Does: "press", Depth: 2},
		{Ref: "0.0.2", Role: "AXTextField", Name: "Password", Secret: true, Depth: 2},
		{Ref: "0.1", Role: "AXButton", Name: "Save", Depth: 1},
	}
	for i := range want {
		want[i].App, want[i].PID, want[i].Window = "TextEdit", 11, "letter"
	}
	if !slices.Equal(list, want) {
		t.Errorf("read\n%+v\nwant\n%+v", list, want)
	}
	if n := len(m.Events()); n > 30 {
		t.Errorf("%d Apple events for six elements", n)
	}
	if list, _, err = macRead(t.Context(), m, "FORUM"); err != nil || len(list) != 2 || list[1].Name != "Pay" || list[1].App != "Safari" {
		t.Errorf("window found by its title: %+v %v", list, err)
	}
	if list, _, err = macRead(t.Context(), m, "nowhere"); err != nil || len(list) != 0 {
		t.Errorf("search without a match: %+v %v", list, err)
	}
}

func TestMacRead_IsLimited(t *testing.T) {
	deep := newElement("AXGroup", "bottom", nil)
	for range 30 {
		deep = newElement("AXGroup", "", nil, deep)
	}
	many := []thing{}
	for range 1000 {
		many = append(many, newElement("AXStaticText", strings.Repeat("ж", 2000), nil))
	}
	for name, kids := range map[string][]thing{"deep": {deep}, "many": many} {
		m := osruntest.NewMac(t, screenOf(kids...))
		list, more, err := macRead(t.Context(), m, "")
		if err != nil || !more || len(list) > MaxNodes || len(list) < 5 || len([]rune(list[1].Name)) > maxText {
			t.Errorf("%s: %d %v %v", name, len(list), more, err)
		}
	}
}

func TestMacAct(t *testing.T) {
	m := osruntest.NewMac(t, screenOf(buildLetter()...))
	list, _, err := macRead(t.Context(), m, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := macAct(t.Context(), m, list[3], nil); err != nil {
		t.Error(err)
	}
	if got := m.EvalWorld("world.apps['com.apple.systemevents'].root.processes[0].windows[0].uiElements[0].uiElements[1].actions.map(function (a) { return a.__performed })"); got != "[null,true]" {
		t.Errorf("pressed %s", got)
	}
	text := "Dear\n\"世界\" \\ $(x)"
	if err := macAct(t.Context(), m, list[2], &text); err != nil {
		t.Error(err)
	}
	if list, _, _ := macRead(t.Context(), m, ""); list[2].Text != text {
		t.Errorf("the field has %q", list[2].Text)
	}
	for name, c := range map[string]struct {
		change string
		node   Node
		text   *string
	}{
		"no press action":            {"0", list[5], nil},
		"a password":                 {"0", list[4], &text},
		"no field":                   {"0", list[3], &text},
		"the window itself":          {"0", list[0], nil},
		"another label":              {"p.windows[0].uiElements[0].uiElements[1].name = 'Delete'", list[3], nil},
		"another window":             {"p.windows[0].name = 'Forum'", list[3], nil},
		"the element is gone":        {"p.windows[0].uiElements = []", list[3], nil},
		"its program is another one": {"p.unixId = 99", list[3], nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := osruntest.NewMac(t, screenOf(buildLetter()...))
			m.EvalWorld("(function (p) { " + strings.TrimPrefix(c.change, "0") + "; return 1; })(world.apps['com.apple.systemevents'].root.processes[0])")
			if err := macAct(t.Context(), m, c.node, c.text); !errors.Is(err, ErrGone) {
				t.Errorf("macAct = %v, want ErrGone", err)
			}
			if e := strings.Join(m.Events(), "\n"); strings.Contains(e, "perform") || strings.Contains(e, "set ") {
				t.Errorf("done: %s", e)
			}
		})
	}
}

func TestMacAct_Refuses(t *testing.T) {
	m := osruntest.NewMac(t, screenOf(buildLetter()...))
	list, _, err := macRead(t.Context(), m, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, number := range map[string]int{"get app.processes.whose.name": -25211, "windows.name": -1719, "uiElements.role": -25211, "whose.unixId": 1002} {
		m.Fail(what, number)
		_, _, err = macRead(t.Context(), m, "")
		if osrun.KindOf(err) != osrun.Denied || !strings.Contains(err.Error(), "Privacy_Accessibility") {
			t.Errorf("%s: macRead = %v", what, err)
		}
		m.ClearFaults()
	}
	m.Fail("perform", -1712)
	if err := macAct(t.Context(), m, list[3], nil); errors.Is(err, ErrNot) || errors.Is(err, ErrGone) || err == nil {
		t.Errorf("press with an unknown outcome = %v", err)
	}
}

func TestScripts(t *testing.T) {
	osruntest.Check(t, macReadScript(), macActScript(), uiaReadScript(), uiaActScript())
}
