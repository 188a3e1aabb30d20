package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestPicturesBecomeFiles(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	p := &pictureExtractor{to: &out, dir: filepath.Join(dir, "pics"), beside: dir}
	const text = "# a\n\n![picture](data:image/png;base64,cG5n)\n````\n![picture](data:image/png;base64,cG5n)\n```\n````\nend ![picture](data:image/png;base64,cG5n)\n![picture](data:image/gif;base64,Z2lm)\nlast"
	for i := 0; i < len(text); i += 7 { // as it comes
		if _, err := p.Write([]byte(text[i:min(i+7, len(text))])); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flushLine(); err != nil {
		t.Fatal(err)
	}
	const want = "# a\n\n![picture](pics/picture-1.png)\n````\n![picture](data:image/png;base64,cG5n)\n```\n````\nend ![picture](data:image/png;base64,cG5n)\n![picture](pics/picture-2.gif)\nlast"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	for name, want := range map[string]string{"picture-1.png": "png", "picture-2.gif": "gif"} {
		if b, err := os.ReadFile(filepath.Join(dir, "pics", name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v", name, b, err)
		}
	}
	again := &pictureExtractor{to: &out, dir: filepath.Join(dir, "pics"), beside: dir}
	if _, err := again.Write([]byte("![picture](data:image/png;base64,cG5n)\n")); err == nil {
		t.Error("a picture was overwritten")
	}
}
