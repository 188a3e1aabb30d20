package file

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// These tests use real notifications of the system.

func TestEditors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		save func(p *watchedFolder)
	}{
		{"writes in place", func(p *watchedFolder) { p.writeNamed("notes.txt", "new text") }},
		{"temporary file renamed over", func(p *watchedFolder) {
			p.writeNamed("notes.txt.tmp", "new text")
			p.renameFile("notes.txt.tmp", "notes.txt")
		}},
		{"GLib: hidden file renamed over", func(p *watchedFolder) {
			p.writeNamed(".goutputstream-AB12CD", "new text")
			p.renameFile(".goutputstream-AB12CD", "notes.txt")
		}},
		{"vim: backup, new file, backup gone", func(p *watchedFolder) {
			p.writeNamed("4913", "")
			p.removeFile("4913")
			p.renameFile("notes.txt", "notes.txt~")
			p.writeNamed("notes.txt", "new text")
			p.removeFile("notes.txt~")
		}},
		{"emacs: lock, autosave, backup", func(p *watchedFolder) {
			p.writeNamed("#notes.txt#", "new")
			p.renameFile("notes.txt", "notes.txt~")
			p.writeNamed("notes.txt", "new text")
			p.removeFile("#notes.txt#")
		}},
		{"deleted and written again", func(p *watchedFolder) {
			p.removeFile("notes.txt")
			<-time.After(quiet / 2)
			p.writeNamed("notes.txt", "new text")
		}},
		{"written in parts", func(p *watchedFolder) {
			for i := range 5 {
				p.writeNamed("notes.txt", strings.Repeat("text", i+1))
				<-time.After(quiet / 3)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.writeNamed("notes.txt", "text")
			p.startManager()
			p.createWatcher(config{Events: []string{created, modified, removed}})
			p.waitKnown()
			c.save(p)
			p.expectEvents("modified notes.txt")
		})
	}
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		download func(p *watchedFolder)
	}{
		{"Chrome", func(p *watchedFolder) {
			p.writeNamed("Unconfirmed 4711.crdownload", "half")
			<-time.After(2 * quiet)
			p.renameFile("Unconfirmed 4711.crdownload", "invoice.pdf")
		}},
		{"Firefox", func(p *watchedFolder) {
			p.writeNamed("invoice.pdf", "")
			p.writeNamed("invoice.pdf.part", "half")
			<-time.After(2 * quiet)
			p.renameFile("invoice.pdf.part", "invoice.pdf")
		}},
		{"Safari", func(p *watchedFolder) {
			p.writeNamed("invoice.pdf.download/invoice.pdf", "half")
			<-time.After(2 * quiet)
			p.renameFile("invoice.pdf.download/invoice.pdf", "invoice.pdf")
			p.removeFile("invoice.pdf.download")
		}},
		{"curl, slowly", func(p *watchedFolder) {
			f, err := os.Create(p.filePath("invoice.pdf"))
			if err != nil {
				p.t.Fatal(err)
			}
			defer f.Close()
			for range 6 {
				fmt.Fprint(f, "more")
				<-time.After(quiet / 2)
			}
			if n := len(p.eventList()); n != 0 {
				p.t.Error("a file was reported before it was complete")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.startManager()
			p.createWatcher(config{Pattern: "*.pdf", Recursive: true})
			p.waitKnown()
			c.download(p)
			p.expectEvents("created invoice.pdf")
		})
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	all := []string{created, modified, removed}
	for _, c := range []struct {
		name string
		cfg  config
		do   func(p *watchedFolder)
		want []string
	}{
		{"a tree created at once", config{Recursive: true}, func(p *watchedFolder) {
			p.writeNamed("a/b/c/deep.txt", "x")
			p.writeNamed("a/top.txt", "x")
		}, []string{"created a/b/c/deep.txt", "created a/top.txt"}},
		{"not below", config{}, func(p *watchedFolder) {
			p.writeNamed("a/b.txt", "x")
			p.writeNamed("here.txt", "x")
		}, []string{"created here.txt"}},
		{"hidden ones", config{Recursive: true}, func(p *watchedFolder) {
			p.writeNamed(".git/objects/x", "x")
			p.writeNamed("a/.cache/x", "x")
			p.writeNamed("a/x", "x")
		}, []string{"created a/x"}},
		{"a tree moved in", config{Recursive: true}, func(p *watchedFolder) {
			away := filepath.Join(p.t.TempDir(), "tree")
			if err := os.MkdirAll(filepath.Join(away, "sub"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			writeFile(p.t, filepath.Join(away, "one.txt"), "x")
			writeFile(p.t, filepath.Join(away, "sub", "two.txt"), "x")
			if err := os.Rename(away, p.filePath("tree")); err != nil {
				p.t.Fatal(err)
			}
		}, []string{"created tree/one.txt", "created tree/sub/two.txt"}},
		{"a renamed folder and its contents", config{Recursive: true, Events: all}, func(p *watchedFolder) {
			p.writeNamed("old/sub/file.txt", "x")
			p.waitEvents(1)
			p.renameFile("old", "fresh")
			p.waitEvents(3)
			p.writeNamed("fresh/sub/later.txt", "x")
			p.waitEvents(4)
			p.writeNamed("fresh/sub/file.txt", "changed")
		}, []string{
			"created old/sub/file.txt", "removed old/sub/file.txt", "created fresh/sub/file.txt", "created fresh/sub/later.txt",
			"modified fresh/sub/file.txt",
		}},
		{"a removed folder and its return", config{Recursive: true, Events: all}, func(p *watchedFolder) {
			p.writeNamed("a/file.txt", "x")
			p.waitEvents(1)
			p.removeFile("a")
			p.waitEvents(2)
			p.writeNamed("a/file.txt", "again")
			p.waitEvents(3)
			p.writeNamed("a/more.txt", "x")
		}, []string{"created a/file.txt", "removed a/file.txt", "created a/file.txt", "created a/more.txt"}},
		{"deleted and restored unchanged", config{Events: []string{created}}, func(p *watchedFolder) {
			p.writeNamed("x.txt", "x")
			p.waitEvents(1)
			away := filepath.Join(p.t.TempDir(), "x.txt")
			if err := os.Rename(p.filePath("x.txt"), away); err != nil {
				p.t.Fatal(err)
			}
			<-time.After(3 * quietGone)
			if err := os.Rename(away, p.filePath("x.txt")); err != nil {
				p.t.Fatal(err)
			}
		}, []string{"created x.txt", "created x.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.startManager()
			p.createWatcher(c.cfg)
			p.waitKnown()
			c.do(p)
			p.expectEvents(c.want...)
		})
	}
}

func TestLive_RootAppearsAndDisappears(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.startManager()
	p.createWatcher(config{Path: p.filePath("far/down/Downloads"), Events: []string{created, removed}})
	p.waitKnown()
	if got, want := p.d.DescribeConfig(p.spec.Config), "(not there yet)"; !strings.HasSuffix(got, want) {
		t.Errorf("Describe = %q, want it to end in %q", got, want)
	}
	p.writeNamed("far/down/Downloads/one.pdf", "x")
	p.expectEvents("created far/down/Downloads/one.pdf")
	p.writeNamed("far/down/Downloads/two.pdf", "x")
	want := []string{"created far/down/Downloads/one.pdf", "created far/down/Downloads/two.pdf"}
	p.expectEvents(want...)
	p.removeFile("far") // the root may be on a removed disk, so its files do not count as removed
	p.expectEvents(want...)
	p.writeNamed("far/down/Downloads/three.pdf", "x")
	want = append(want, "created far/down/Downloads/three.pdf", "removed far/down/Downloads/one.pdf", "removed far/down/Downloads/two.pdf")
	p.expectEvents(want...)
	p.renameFile("far/down", "far/up")
	p.writeNamed("far/down/Downloads/three.pdf", "y")
	p.writeNamed("far/down/Downloads/four.pdf", "x")
	p.d.hub.checkAll() // the system reports no removal of a folder far above
	p.expectEvents(append(want, "created far/down/Downloads/four.pdf")...)
}

func TestLive_OneFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.writeNamed("notes.txt", "x")
	p.startManager()
	p.createWatcher(config{Path: p.filePath("notes.txt"), Events: []string{created, modified, removed}})
	p.waitKnown()
	if got, want := p.d.DescribeConfig(p.spec.Config), "changes to "+p.filePath("notes.txt"); got != want {
		t.Errorf("Describe = %q, want %q", got, want)
	}
	p.writeNamed("other.txt", "x")
	p.writeNamed("notes.txt", "xy")
	p.expectEvents("modified notes.txt")
	p.removeFile("notes.txt")
	p.expectEvents("modified notes.txt", "removed notes.txt")
	p.stop()
	p.writeNamed("notes.txt", "again")
	p.restartManager()
	p.startManager()
	p.expectEvents("modified notes.txt", "removed notes.txt", "created notes.txt")
	p.stop()
	p.removeFile("notes.txt")
	p.restartManager()
	p.startManager()
	p.expectEvents("modified notes.txt", "removed notes.txt", "created notes.txt", "removed notes.txt")
	if got, want := p.sink.Fired()[0].Text, "Changed: "+p.filePath("notes.txt"); got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestLive_ChangesWhileStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.writeNamed("same", "x")
	p.writeNamed("changed", "x")
	p.writeNamed("removed", "x")
	p.startManager()
	p.createWatcher(config{Events: []string{created, modified, removed}})
	p.waitKnown()
	p.stop()
	p.writeNamed("changed", "xy")
	p.removeFile("removed")
	p.writeNamed("created", "x")
	p.restartManager()
	p.startManager()
	want := []string{"modified changed", "removed removed", "created created"}
	p.expectEvents(want...)
	p.restartManager()
	p.startManager()
	p.expectEvents(want...)
}

func TestLive_UnusualNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not store names as bytes")
	}
	t.Parallel()
	p := newPlace(t, false)
	p.startManager()
	p.createWatcher(config{Pattern: "*caf\u00e9*;bad*"})
	p.waitKnown()
	p.writeNamed("CAFE\u0301.txt", "x") // decomposed and upper case
	p.writeNamed("my caf\u00e9", "x")
	p.writeNamed("cafe.txt", "x")
	p.writeNamed("bad\xff\xfe", "x")
	p.writeNamed("bad\nline\u202e", "x")
	want := []string{"created CAFE\u0301.txt", "created my caf\u00e9", "created bad\xff\xfe", "created bad\nline\u202e"}
	p.expectEvents(want...)
	for _, f := range p.sink.Fired() {
		if strings.ContainsAny(f.Text, "\n\u202e") || !utf8.ValidString(f.Text) {
			t.Errorf("text %q", f.Text)
		}
	}
	p.restartManager()
	p.startManager()
	p.expectEvents(want...)
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	t.Parallel()
	p := newPlace(t, false)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "target"), "x")
	link := func(to, name string) {
		if err := os.Symlink(to, p.filePath(name)); err != nil {
			t.Fatal(err)
		}
	}
	p.writeNamed("real/file", "x")
	link(p.filePath("real"), "alias")
	p.startManager()
	p.createWatcher(config{Path: p.filePath("alias"), Recursive: true})
	p.createWatcher(config{Path: p.filePath("real"), Recursive: true})
	p.waitKnown()
	link(p.dir, "real/up")          // a link to a parent folder
	link("self", "real/self")       // a link to itself
	link(outside, "real/elsewhere") // a link to a folder outside of the watched folder
	link(filepath.Join(outside, "target"), "real/linked")
	p.writeNamed("real/new", "x")
	writeFile(t, filepath.Join(outside, "more"), "x")
	p.expectEvents("created alias/linked", "created alias/new", "created real/linked", "created real/new")
}
