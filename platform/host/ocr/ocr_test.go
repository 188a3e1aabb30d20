package ocr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"hob/platform/host/osrun"
	"hob/platform/host/osrun/osruntest"
)

// blankPicture returns a picture without text.
func blankPicture(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 40, 120))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTesseract uses the real tesseract.
func TestTesseract(t *testing.T) {
	if _, err := exec.LookPath("tesseract"); err != nil {
		t.Skip("tesseract is not installed")
	}
	r := Reader{tesseract{osrun.Programs{Getenv: os.Getenv}}}
	picture, err := os.ReadFile("testdata/invoice.png")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := r.Read(t.Context(), picture); err != nil || text != "Invoice 2042 due" {
		t.Errorf("Read = %q, %v", text, err)
	}
	if text, err := r.Read(t.Context(), blankPicture(t)); err != nil || text != "" {
		t.Errorf("a blank picture: %q, %v", text, err)
	}
}

func TestPictures(t *testing.T) {
	r := Reader{tesseract{osrun.Programs{Getenv: func(string) string { return t.TempDir() }}}}
	bomb := bytes.Replace(blankPicture(t), []byte{0, 0, 0, 120}, []byte{0x7f, 0xff, 0xff, 0xff}, 1)
	for name, b := range map[string][]byte{"nothing": nil, "a text": []byte("hello"), "too many points": bomb} {
		if _, err := r.Read(t.Context(), b); !errors.Is(err, ErrNoPicture) {
			t.Errorf("%s: Read = %v, want ErrNoPicture", name, err)
		}
	}
	if _, err := r.Read(t.Context(), blankPicture(t)); !errors.Is(err, osrun.ErrNoProgram) {
		t.Errorf("Read without tesseract = %v", err)
	}
	if got := cleanText("\n a\u202eb\x1b[1m\n\n"); got != "ab[1m" {
		t.Errorf("cleanText = %q, want \"ab[1m\"", got)
	}
}

// TestVision simulates Vision as JXA's bridge returns it: counts are numbers or strings, and a line
// is an object with the property js.
func TestVision(t *testing.T) {
	for name, tc := range map[string]struct{ world, want, kind string }{
		"two lines":      {`{lines: ['Grüße', 'Invoice 99']}`, "Grüße\nInvoice 99", ""},
		"no text":        {`{lines: []}`, "", ""},
		"an old macOS":   {`{lines: ['x'], old: true}`, "x", ""},
		"macOS cannot":   {`{fails: true}`, "", "invalid_input"},
		"without Vision": {`{none: true}`, "", "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			vm := goja.New()
			if _, err := vm.RunString(`var world = ` + tc.world + `, asked = '';
				function line(s) { return { topCandidates: function (n) { if (n !== 1) throw new Error('n'); return { count: '1', objectAtIndex: function () { return { string: { js: s } }; } }; } }; }
				var ObjC = { import: function (n) { if (n === 'Vision' && world.none) throw new Error('no ' + n); } }, Ref = function () { return []; };
				var $ = function (s) { return { js: s }; };
				var want = { set recognitionLevel(n) {}, set usesLanguageCorrection(b) {}, set automaticallyDetectsLanguage(b) { if (world.old) throw new Error('unknown'); },
					get results() { return { count: String(world.lines.length), objectAtIndex: function (i) { return line(world.lines[i]); } }; } };
				$.VNRecognizeTextRequest = { alloc: { init: want } };
				$.NSURL = { fileURLWithPath: function (p) { asked = p.js; return p; } };
				$.NSDictionary = { dictionary: {} }; $.NSArray = { arrayWithObject: function (o) { return [o]; } };
				$.VNImageRequestHandler = { alloc: { initWithURLOptions: function () { return { performRequestsError: function () { return !world.fails; } }; } } };
				$.NSFileHandle = { fileHandleWithStandardInput: {} }; $.NSString = { alloc: { initWithDataEncoding: function () { return { js: stdin }; } } };`); err != nil {
				t.Fatal(err)
			}
			s := scriptReader{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, cmd *exec.Cmd, in []byte) ([]byte, error) {
				if err := vm.Set("stdin", string(in)); err != nil {
					return nil, err
				}
				v, err := vm.RunString("(function () {" + cmd.Args[4] + "\nreturn run([]); })()")
				if err != nil {
					return nil, err
				}
				return []byte(v.String()), nil
			}}), visionScript()}
			text, err := (&Reader{s}).Read(t.Context(), blankPicture(t))
			if text != tc.want || string(osrun.KindOf(err)) != tc.kind {
				t.Errorf("Read = %q, %v", text, err)
			}
			if asked := vm.Get("asked").String(); asked != "" {
				if _, err := os.Stat(asked); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("picture file was not removed: %v", err)
				}
			}
		})
	}
	osruntest.Check(t, visionScript(), winScript())
}

func TestWindows(t *testing.T) {
	s := scriptReader{osrun.NewScripts(osrun.Options{Output: func(_ context.Context, _ *exec.Cmd, in []byte) ([]byte, error) {
		var r pathRequest
		if err := json.Unmarshal(in, &r); err != nil || !strings.HasSuffix(r.Path, "picture.png") {
			t.Errorf("input of the script = %s", in)
		}
		return []byte("\n--hob--\n" + `{"ok":true,"data":{"lines":["a","b"]}}`), nil
	}}), winScript()}
	if text, err := (&Reader{s}).Read(t.Context(), blankPicture(t)); err != nil || text != "a\nb" {
		t.Errorf("Read = %q, %v", text, err)
	}
}
