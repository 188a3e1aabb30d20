package display

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

func TestMac(t *testing.T) {
	world := map[string]any{"apps": map[string]any{"com.apple.systemevents": map[string]any{
		"running": false, "root": map[string]any{"appearancePreferences": map[string]any{"__class": "Appearance", "darkMode": false}},
		"dict": map[string]any{
			"Application": map[string]any{"properties": []string{}, "elements": map[string]any{}, "objects": map[string]any{"appearancePreferences": "Appearance"}},
			"Appearance":  map[string]any{"properties": []string{"darkMode"}, "elements": map[string]any{}},
		},
	}}}
	m := osruntest.NewMac(t, world)
	says, fails := "Dark\n", error(nil)
	d := &Display{macBackend{m, osrun.Programs{Output: func(context.Context, *exec.Cmd, []byte) ([]byte, error) { return []byte(says), fails }}}}
	if err := d.back.setDark(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := m.EvalWorld(`world.apps["com.apple.systemevents"].root.appearancePreferences.darkMode`); got != "true" {
		t.Errorf("darkMode is %s", got)
	}
	m.Fail("set app.appearancePreferences", -1743)
	if err := d.back.setDark(t.Context(), true); osrun.KindOf(err) != osrun.Denied {
		t.Errorf("setDark without permission = %v", err)
	}
	m.ClearFaults()
	m.Fail("set app.appearancePreferences", -1712)
	if err := d.back.setDark(t.Context(), true); !osrun.IsUncertain(err) {
		t.Errorf("setDark without an answer = %v", err)
	}
	if _, err := d.Brightness(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("brightness: %v", err)
	}
	osruntest.Check(t, appearanceScript(), brightnessScript())
}

func TestWMI(t *testing.T) {
	var asked []string
	answer := `{"ok":true,"data":{"percent":70}}`
	w := wmiClient{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		asked = append(asked, string(in))
		return []byte("\n--hob--\n" + answer), nil
	}})}
	if n, err := w.runBrightnessScript(t.Context(), nil); err != nil || n != 70 {
		t.Errorf("runBrightnessScript = %d, %v", n, err)
	}
	to := 30
	if _, err := w.runBrightnessScript(t.Context(), &to); err != nil {
		t.Error(err)
	}
	answer = `{"ok":false,"kind":"not_found","message":"there is no such screen"}`
	if _, err := w.runBrightnessScript(t.Context(), nil); !errors.Is(err, ErrNoBacklight) {
		t.Errorf("brightness without a screen = %v", err)
	}
	if diff := cmp.Diff([]string{`{}`, `{"percent":30}`, `{}`}, asked); diff != "" {
		t.Error(diff)
	}
}
