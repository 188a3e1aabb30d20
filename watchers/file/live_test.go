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
		save func(p *place)
	}{
		{"writes in place", func(p *place) { p.write("notes.txt", "new text") }},
		{"temporary file renamed over", func(p *place) {
			p.write("notes.txt.tmp", "new text")
			p.rename("notes.txt.tmp", "notes.txt")
		}},
		{"GLib: hidden file renamed over", func(p *place) {
			p.write(".goutputstream-AB12CD", "new text")
			p.rename(".goutputstream-AB12CD", "notes.txt")
		}},
		{"vim: backup, new file, backup gone", func(p *place) {
			p.write("4913", "")
			p.remove("4913")
			p.rename("notes.txt", "notes.txt~")
			p.write("notes.txt", "new text")
			p.remove("notes.txt~")
		}},
		{"emacs: lock, autosave, backup", func(p *place) {
			p.write("#notes.txt#", "new")
			p.rename("notes.txt", "notes.txt~")
			p.write("notes.txt", "new text")
			p.remove("#notes.txt#")
		}},
		{"deleted and written again", func(p *place) {
			p.remove("notes.txt")
			<-time.After(quiet / 2)
			p.write("notes.txt", "new text")
		}},
		{"written in pieces", func(p *place) {
			for i := range 5 {
				p.write("notes.txt", strings.Repeat("text", i+1))
				<-time.After(quiet / 3)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.write("notes.txt", "text")
			p.start()
			p.create(config{Events: []string{created, modified, removed}})
			p.settled()
			c.save(p)
			p.hears("modified notes.txt")
		})
	}
}

func TestDownloads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		download func(p *place)
	}{
		{"Chrome", func(p *place) {
			p.write("Unconfirmed 4711.crdownload", "half")
			<-time.After(2 * quiet)
			p.rename("Unconfirmed 4711.crdownload", "invoice.pdf")
		}},
		{"Firefox", func(p *place) {
			p.write("invoice.pdf", "")
			p.write("invoice.pdf.part", "half")
			<-time.After(2 * quiet)
			p.rename("invoice.pdf.part", "invoice.pdf")
		}},
		{"Safari", func(p *place) {
			p.write("invoice.pdf.download/invoice.pdf", "half")
			<-time.After(2 * quiet)
			p.rename("invoice.pdf.download/invoice.pdf", "invoice.pdf")
			p.remove("invoice.pdf.download")
		}},
		{"curl, slowly", func(p *place) {
			f, err := os.Create(p.path("invoice.pdf"))
			if err != nil {
				p.t.Fatal(err)
			}
			defer f.Close()
			for range 6 {
				fmt.Fprint(f, "more")
				<-time.After(quiet / 2)
			}
			if n := len(p.heard()); n != 0 {
				p.t.Error("reported before it was finished")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.start()
			p.create(config{Pattern: "*.pdf", Recursive: true})
			p.settled()
			c.download(p)
			p.hears("created invoice.pdf")
		})
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	all := []string{created, modified, removed}
	for _, c := range []struct {
		name string
		cfg  config
		do   func(p *place)
		want []string
	}{
		{"a tree at once", config{Recursive: true}, func(p *place) {
			p.write("a/b/c/deep.txt", "x")
			p.write("a/top.txt", "x")
		}, []string{"created a/b/c/deep.txt", "created a/top.txt"}},
		{"not below", config{}, func(p *place) {
			p.write("a/b.txt", "x")
			p.write("here.txt", "x")
		}, []string{"created here.txt"}},
		{"hidden ones", config{Recursive: true}, func(p *place) {
			p.write(".git/objects/x", "x")
			p.write("a/.cache/x", "x")
			p.write("a/x", "x")
		}, []string{"created a/x"}},
		{"a tree moved in", config{Recursive: true}, func(p *place) {
			away := filepath.Join(p.t.TempDir(), "tree")
			if err := os.MkdirAll(filepath.Join(away, "sub"), 0o700); err != nil {
				p.t.Fatal(err)
			}
			write(p.t, filepath.Join(away, "one.txt"), "x")
			write(p.t, filepath.Join(away, "sub", "two.txt"), "x")
			if err := os.Rename(away, p.path("tree")); err != nil {
				p.t.Fatal(err)
			}
		}, []string{"created tree/one.txt", "created tree/sub/two.txt"}},
		{"a renamed folder and what is below", config{Recursive: true, Events: all}, func(p *place) {
			p.write("old/sub/file.txt", "x")
			p.enough(1)
			p.rename("old", "fresh")
			p.enough(3)
			p.write("fresh/sub/later.txt", "x")
			p.enough(4)
			p.write("fresh/sub/file.txt", "changed")
		}, []string{
			"created old/sub/file.txt", "removed old/sub/file.txt", "created fresh/sub/file.txt", "created fresh/sub/later.txt",
			"modified fresh/sub/file.txt",
		}},
		{"a removed folder and its return", config{Recursive: true, Events: all}, func(p *place) {
			p.write("a/file.txt", "x")
			p.enough(1)
			p.remove("a")
			p.enough(2)
			p.write("a/file.txt", "again")
			p.enough(3)
			p.write("a/more.txt", "x")
		}, []string{"created a/file.txt", "removed a/file.txt", "created a/file.txt", "created a/more.txt"}},
		{"deleted and restored unchanged", config{Events: []string{created}}, func(p *place) {
			p.write("x.txt", "x")
			p.enough(1)
			away := filepath.Join(p.t.TempDir(), "x.txt")
			if err := os.Rename(p.path("x.txt"), away); err != nil {
				p.t.Fatal(err)
			}
			<-time.After(3 * quietGone)
			if err := os.Rename(away, p.path("x.txt")); err != nil {
				p.t.Fatal(err)
			}
		}, []string{"created x.txt", "created x.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, false)
			p.start()
			p.create(c.cfg)
			p.settled()
			c.do(p)
			p.hears(c.want...)
		})
	}
}

func TestRootComesAndGoes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.start()
	p.create(config{Path: p.path("far/down/Downloads"), Events: []string{created, removed}})
	p.settled()
	if got, want := p.d.Describe(p.spec.Config), "(not there yet)"; !strings.HasSuffix(got, want) {
		t.Errorf("Describe = %q, want it to end in %q", got, want)
	}
	p.write("far/down/Downloads/one.pdf", "x")
	p.hears("created far/down/Downloads/one.pdf")
	p.write("far/down/Downloads/two.pdf", "x")
	want := []string{"created far/down/Downloads/one.pdf", "created far/down/Downloads/two.pdf"}
	p.hears(want...)
	p.remove("far") // a removed disk removes no files
	p.hears(want...)
	p.write("far/down/Downloads/three.pdf", "x")
	want = append(want, "created far/down/Downloads/three.pdf", "removed far/down/Downloads/one.pdf", "removed far/down/Downloads/two.pdf")
	p.hears(want...)
	p.rename("far/down", "far/up")
	p.write("far/down/Downloads/three.pdf", "y")
	p.write("far/down/Downloads/four.pdf", "x")
	p.d.hub.check() // the system reports no removal of a folder far above
	p.hears(append(want, "created far/down/Downloads/four.pdf")...)
}

func TestOneFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.write("notes.txt", "x")
	p.start()
	p.create(config{Path: p.path("notes.txt"), Events: []string{created, modified, removed}})
	p.settled()
	if got, want := p.d.Describe(p.spec.Config), "changes to "+p.path("notes.txt"); got != want {
		t.Errorf("Describe = %q, want %q", got, want)
	}
	p.write("other.txt", "x")
	p.write("notes.txt", "xy")
	p.hears("modified notes.txt")
	p.remove("notes.txt")
	p.hears("modified notes.txt", "removed notes.txt")
	p.stop()
	p.write("notes.txt", "again")
	p.restart()
	p.start()
	p.hears("modified notes.txt", "removed notes.txt", "created notes.txt")
	p.stop()
	p.remove("notes.txt")
	p.restart()
	p.start()
	p.hears("modified notes.txt", "removed notes.txt", "created notes.txt", "removed notes.txt")
	if got, want := p.sink.Fired()[0].Text, "Changed: "+p.path("notes.txt"); got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestWhileAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	p.write("same", "x")
	p.write("changed", "x")
	p.write("removed", "x")
	p.start()
	p.create(config{Events: []string{created, modified, removed}})
	p.settled()
	p.stop()
	p.write("changed", "xy")
	p.remove("removed")
	p.write("created", "x")
	p.restart()
	p.start()
	want := []string{"modified changed", "removed removed", "created created"}
	p.hears(want...)
	p.restart()
	p.start()
	p.hears(want...)
}

func TestStrangeNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not keep names as bytes")
	}
	t.Parallel()
	p := newPlace(t, false)
	p.start()
	p.create(config{Pattern: "*caf\u00e9*;bad*"})
	p.settled()
	p.write("CAFE\u0301.txt", "x") // decomposed and upper case
	p.write("my caf\u00e9", "x")
	p.write("cafe.txt", "x")
	p.write("bad\xff\xfe", "x")
	p.write("bad\nline\u202e", "x")
	want := []string{"created CAFE\u0301.txt", "created my caf\u00e9", "created bad\xff\xfe", "created bad\nline\u202e"}
	p.hears(want...)
	for _, f := range p.sink.Fired() {
		if strings.ContainsAny(f.Text, "\n\u202e") || !utf8.ValidString(f.Text) {
			t.Errorf("text %q", f.Text)
		}
	}
	p.restart()
	p.start()
	p.hears(want...)
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	t.Parallel()
	p := newPlace(t, false)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "target"), "x")
	link := func(to, name string) {
		if err := os.Symlink(to, p.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	p.write("real/file", "x")
	link(p.path("real"), "alias")
	p.start()
	p.create(config{Path: p.path("alias"), Recursive: true})
	p.create(config{Path: p.path("real"), Recursive: true})
	p.settled()
	link(p.dir, "real/up")          // a loop
	link("self", "real/self")       // to itself
	link(outside, "real/elsewhere") // a folder outside the watched one
	link(filepath.Join(outside, "target"), "real/linked")
	p.write("real/new", "x")
	write(t, filepath.Join(outside, "more"), "x")
	p.hears("created alias/linked", "created alias/new", "created real/linked", "created real/new")
}
