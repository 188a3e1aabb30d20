package clipboard

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// Simulates the pasteboard of macOS and the scripting bridge: stringForType returns a wrapped
// value, which is undefined after unwrapping if the type is missing.
func TestPasteScript(t *testing.T) {
	for name, tc := range map[string]struct {
		world string
		want  Content
		fails bool
	}{
		"a text":          {`{types: ['public.utf8-plain-text'], text: 'Grüße 👋 "x"'}`, Content{Text: `Grüße 👋 "x"`}, false},
		"empty":           {`{types: [], text: undefined}`, Content{}, false},
		"no types at all": {`{types: undefined, text: undefined}`, Content{}, false},
		"a picture":       {`{types: ['public.png'], text: undefined}`, Content{Formats: []string{"public.png"}}, false},
		"a password":      {`{types: ['public.utf8-plain-text', 'org.nspasteboard.ConcealedType'], text: 'pw'}`, Content{Text: "pw", Hidden: true}, false},
		"refused":         {`null`, Content{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			vm := goja.New()
			if _, err := vm.RunString(`var world = ` + tc.world + `;
				var ObjC = { import: function (n) { if (n !== 'AppKit') throw new Error(n); },
					unwrap: function (x) { return x.js; }, deepUnwrap: function (x) { return x.js; } };
				var $ = { NSPasteboard: { get generalPasteboard() { return { types: { js: world.types },
					stringForType: function (t) { if (t !== 'public.utf8-plain-text') throw new Error(t); return { js: world.text }; } }; } } };`); err != nil {
				t.Fatal(err)
			}
			got, err := readPasteboard(t.Context(), engine{vm}, Options{})
			if (err != nil) != tc.fails {
				t.Fatalf("%v", err)
			}
			if len(got.Formats) == 0 {
				got.Formats = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	osruntest.Check(t, pasteScript())
}

// engine runs the function main of a script, as osrun does on macOS.
type engine struct{ vm *goja.Runtime }

func (e engine) Run(_ context.Context, c osrun.Call, out any) error {
	if _, err := e.vm.RunString(c.Script.FullText()); err != nil {
		return err
	}
	v, err := e.vm.RunString("JSON.stringify(main({}))")
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(v.String()), out)
}
