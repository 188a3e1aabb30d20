//go:build linux

package badinput

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// File names are bytes on Linux. Names that are not UTF-8 are reported as well as possible, and do
// not hide other files.
func TestFileNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t, offline)
	docs := filepath.Join(h.user, "Documents")
	failOnError(t, os.Mkdir(docs, 0o700))
	h.takeOwnership(docs)
	names := []string{"caf\xe9.txt", "new\nline.txt", "\x1b[31mred.txt", "Käse 日本.txt", strings.Repeat("n", 250) + ".txt", "plain.txt"}
	h.startDaemon()
	h.runHob("watch", "add", docs).checkSuccess("watching")
	for _, n := range names {
		path := filepath.Join(docs, n)
		failOnError(t, os.WriteFile(path, []byte("mild cheese"), 0o600))
		h.takeOwnership(path)
	}
	h.waitUntil("one notice for each file", func() bool { return len(h.listDeliveries("notice")) >= len(names) })
	var all strings.Builder
	for _, d := range h.listDeliveries("notice") {
		all.WriteString(d.Text + "\n")
		if !utf8.ValidString(d.Text) || strings.ContainsRune(d.Text, '\x1b') {
			t.Errorf("the notice contains invalid characters: %q", d.Text)
		}
	}
	for _, want := range []string{"caf", "line.txt", "red.txt", "Käse 日本.txt", "nnnn", "plain.txt"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no notice about %q:\n%s", want, all.String())
		}
	}
	call := func(tool string, args any) (code, text string) {
		b, err := json.Marshal(map[string]any{"arguments": args})
		failOnError(t, err)
		_, body := h.callAPI("POST", "/api/v1/tools/"+tool, string(b))
		var r struct{ Code, Text string }
		failOnError(t, json.Unmarshal([]byte(body), &r))
		return r.Code, r.Text
	}
	if code, text := call("list_directory", map[string]any{"path": docs}); code != "" || !strings.Contains(text, fmt.Sprintf("%d entries", len(names))) {
		t.Errorf("the list: %s %s", code, text)
	}
	if code, text := call("search_files", map[string]any{"path": docs, "query": "mild"}); code != "" || !strings.Contains(text, "plain.txt") {
		t.Errorf("the search: %s %s", code, text)
	}
	if code, _ := call("trash_file", map[string]any{"path": filepath.Join(docs, "caf\uFFFD.txt")}); code != "not_found" {
		t.Errorf("trash of a file by the shown name: code %q", code)
	}
	if _, err := os.Stat(filepath.Join(docs, names[0])); errors.Is(err, os.ErrNotExist) {
		t.Error("the file with the unusual name is missing")
	}
	h.stopDaemon()
}
