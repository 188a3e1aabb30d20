package channels_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
)

var png = append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, 100)...)

func memoryFile(name string, data []byte) channels.File {
	return channels.File{Name: name, Size: int64(len(data)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// receiveMessage passes one message to a manager and returns the accepted form.
func receiveMessage(t *testing.T, in channels.Inbound, opt channels.Options) (got channels.Inbound, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &talkingChannel{say: in}
		h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, opt)
		synctest.Wait()
		h.stopManager(t)
		err = k.err
		if heard := h.inbox.Heard(); len(heard) == 1 {
			got = heard[0]
		}
	})
	return got, err
}

func TestReceivedFiles_AreStored(t *testing.T) {
	dir := t.TempDir()
	opt := channels.Options{Files: channels.Files{
		Keep: channels.OpenReceivedFolder(func() string { return dir }, "Received"),
		Read: func(_ context.Context, _ string, data []byte) (string, error) {
			if !bytes.HasPrefix(data, []byte("text")) {
				return "", errors.New("no text")
			}
			return string(data), nil
		},
	}}
	huge := channels.File{Name: "x.exe", Size: 60 << 20, Open: func(context.Context) (io.ReadCloser, error) {
		t.Error("a file above the limit was fetched")
		return nil, errors.New("no")
	}}
	liar := channels.File{Name: "liar.bin", Size: 1, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(io.LimitReader(zeros{}, 30<<20)), nil
	}}
	broken := channels.File{Name: "broken", Open: func(context.Context) (io.ReadCloser, error) {
		return nil, errors.New("https://files.example/bot123:SECRET/x")
	}}
	got, err := receiveMessage(t, channels.Inbound{Chat: "7", FromOwner: true, Files: []channels.File{
		memoryFile("cat.exe", png), memoryFile("../../etc/passwd", []byte("text of a file")), huge, liar, broken, memoryFile("run.sh", []byte("#!/bin/sh\n")),
		memoryFile("big.png", append(bytes.Clone(png), make([]byte, 4_000_000)...)),
	}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Images) != 1 || got.Images[0].MIME != "image/png" || got.Text != "[files]" || got.Files != nil {
		t.Errorf("%d pictures, text %q", len(got.Images), got.Text)
	}
	notes := strings.Join(got.Outside, "\n")
	for _, want := range []string{
		"[file passwd, 14 bytes, saved as " + filepath.Join(dir, "Received", "passwd") + "]\ntext of a file",
		"[file x.exe.txt, 60 MB, was not fetched: larger than 20 MB]", "[file liar.bin was not fetched: larger than 20 MB]", "[file broken could not be fetched]",
		"saved as " + filepath.Join(dir, "Received", "run.sh.txt"), "[file big.png, 3.8 MB, saved as ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "SECRET") {
		t.Error("the notes contain an address")
	}
	info, err := os.Stat(filepath.Join(dir, "Received", "run.sh.txt"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("Stat = %v, %v", info, err)
	}
}

func TestReceivedFiles_NotFromUnknownSenders(t *testing.T) {
	f := channels.File{Name: "x", Open: func(context.Context) (io.ReadCloser, error) {
		t.Error("a file of an unknown sender was fetched")
		return nil, errors.New("no")
	}}
	for _, in := range []channels.Inbound{
		{Chat: "7", Sender: "eve", Text: "hi", Files: []channels.File{f}},
		{Chat: "7", Sender: "me", FromOwner: true, Group: true, Text: "hi", Files: []channels.File{f}},
	} {
		if _, err := receiveMessage(t, in, channels.Options{}); !errors.Is(err, channels.ErrStranger) {
			t.Errorf("error %v", err)
		}
	}
}

// A slow file delays the following messages only for a limited time, which is short for senders
// other than the owner.
func TestReceivedFiles_SlowOnesAreLimited(t *testing.T) {
	slow := channels.File{Name: "slow", Open: func(ctx context.Context) (io.ReadCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	for _, owner := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			k := &talkingChannel{allow: []string{"ada"}, say: channels.Inbound{Chat: "7", Sender: "ada", FromOwner: owner, Files: []channels.File{slow, slow, slow}}}
			h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, channels.Options{})
			begun := time.Now()
			for len(h.inbox.Heard()) == 0 && time.Since(begun) < time.Hour {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			if took, want := time.Since(begun), map[bool]time.Duration{true: 90 * time.Second, false: 20 * time.Second}[owner]; took != want {
				t.Errorf("owner %v: waited %v", owner, took)
			}
			h.stopManager(t)
		})
	}
}

func TestReceivedFiles_HaveACountLimit(t *testing.T) {
	var files []channels.File
	for range 12 {
		files = append(files, memoryFile("a.bin", []byte{0, 1}))
	}
	got, err := receiveMessage(t, channels.Inbound{Chat: "7", FromOwner: true, Text: "look", Files: files}, channels.Options{})
	if err != nil || len(got.Outside) != 11 || !strings.Contains(got.Outside[10], "2 more files") || got.Text != "look" {
		t.Errorf("%v: %q", err, got.Outside)
	}
}

func TestReceivedFolder_OverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	keep := channels.OpenReceivedFolder(func() string { return dir }, "Received")
	var paths []string
	for _, data := range []string{"one", "two", "one"} {
		p, err := keep(t.Context(), "a.txt", []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Base(p))
	}
	if got := strings.Join(paths, " "); got != "a.txt a (2).txt a.txt" {
		t.Errorf("stored as %s", got)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "Received", "a.txt")); string(b) != "one" {
		t.Errorf("first file = %q", b)
	}
}

// The next start removes incomplete files left by a crash, and nothing else.
func TestReceivedFolder_RemovesPartialFiles(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := channels.RemovePartialFiles(dir, "Received", now); err != nil {
		t.Errorf("RemovePartialFiles without a folder = %v", err)
	}
	in := filepath.Join(dir, "Received")
	if _, err := channels.OpenReceivedFolder(func() string { return dir }, "Received")(t.Context(), "a.txt", []byte("one")); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{".hob-half-OLD": time.Hour, ".hob-half-NEW": -time.Hour, "old.txt": time.Hour} {
		if err := errors.Join(os.WriteFile(filepath.Join(in, name), []byte("o"), 0o600), os.Chtimes(filepath.Join(in, name), now.Add(-age), now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := channels.RemovePartialFiles(dir, "Received", now); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(in)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != ".hob-half-NEW a.txt old.txt" {
		t.Errorf("remaining files = %s, %v", got, err)
	}
}

func TestReceivedFolder_FollowsNoLink(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(dir, "Received")); err != nil {
		t.Skip(err)
	}
	if p, err := channels.OpenReceivedFolder(func() string { return dir }, "Received")(t.Context(), "a.txt", nil); err == nil {
		t.Errorf("a file was stored outside the folder, as %s", p)
	}
}

func TestFileName(t *testing.T) {
	for in, want := range map[string]string{
		"report.pdf": "report.pdf", `C:\Users\x\a.docx`: "a.docx", "../../.ssh/authorized_keys": "authorized_keys", ".bashrc": "bashrc", "": "file", "..": "file",
		"con.txt": "file con.txt", "NUL": "file NUL", "a\u202Etxt.exe": "atxt.exe.txt", "x\n[file y": "x__file y", "invoice.pdf.JS": "invoice.pdf.JS.txt", "a/": "a",
		strings.Repeat("a", 116) + ".exe-and-a-long-end": strings.Repeat("a", 116) + ".txt", strings.Repeat("a", 119) + ". a suffix too long": strings.Repeat("a", 119),
		"con." + strings.Repeat("a", 120): "file con." + strings.Repeat("a", 111),
		"ends. . ":                        "ends", "größe.png": "größe.png", "a:b|c?.txt": "a_b_c_.txt",
	} {
		if got := channels.FileName(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "CON", "\x00\xff", strings.Repeat("ä", 400) + ".pdf", ".", "a. .exe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := channels.FileName(in)
		if got == "" || len(got) > 140 || strings.ContainsAny(got, "/\\\x00\n:[]") || got[0] == '.' || filepath.Base(got) != got || !filepath.IsLocal(got) {
			t.Errorf("%q became %q", in, got)
		}
		if again := channels.FileName(got); again != got {
			t.Errorf("%q became %q, then %q", in, got, again)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// duplicateInbox is a receiver that has already accepted everything.
type duplicateInbox struct{ channelstest.Inbox }

func (*duplicateInbox) Known(context.Context, channels.Inbound) (channels.Accepted, bool, error) {
	return channels.Accepted{Event: "e1"}, true, nil
}

// rejectingInbox is a receiver that announces that it will reject every message.
type rejectingInbox struct{ channelstest.Inbox }

func (*rejectingInbox) Known(_ context.Context, in channels.Inbound) (channels.Accepted, bool, error) {
	return channels.Accepted{}, false, fmt.Errorf("%s wrote too much on %s: %w", in.Sender, in.Channel, channels.ErrStranger)
}

func TestReceivedFiles_NotForARepeatedMessage(t *testing.T) {
	k := askFirst(t, &duplicateInbox{}, "k")
	if k.err != nil || !k.acc.Repeated || k.acc.Event != "e1" {
		t.Errorf("%+v, %v", k.acc, k.err)
	}
}

// Files of a message that will be rejected use no disk space.
func TestReceivedFiles_NotForARejectedMessage(t *testing.T) {
	for _, key := range []string{"k", ""} {
		if k := askFirst(t, &rejectingInbox{}, key); !errors.Is(k.err, channels.ErrStranger) || !strings.Contains(k.err.Error(), "ada wrote too much on x") {
			t.Errorf("%v", k.err)
		}
	}
}

// askFirst passes a message with a file to a receiver. The file must not be fetched.
func askFirst(t *testing.T, to channels.Receiver, key string) *talkingChannel {
	t.Helper()
	k := &talkingChannel{say: channels.Inbound{Chat: "7", Sender: "ada", FromOwner: true, Key: key, Files: []channels.File{{Name: "x", Open: func(context.Context) (io.ReadCloser, error) {
		t.Error("a file of a rejected message was fetched")
		return nil, errors.New("no")
	}}}}}
	m, err := channels.New(channels.Options{Outbox: channelstest.NewOutbox(), Receiver: to, Log: slog.New(slog.DiscardHandler), Channels: map[string]channels.Channel{"x": k}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
	})
	return k
}

// A guest cannot fill the disk: a guest's files have an hourly limit, the owner's have none.
func TestReceivedFiles_GuestsHaveALimit(t *testing.T) {
	for _, owner := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			kept := 0
			opt := channels.Options{Files: channels.Files{Keep: func(context.Context, string, []byte) (string, error) {
				kept++
				return "/x", nil
			}}}
			k := &talkingChannel{allow: []string{"ada"}, say: channels.Inbound{Chat: "7", Sender: "ada", FromOwner: owner, Text: "hi"}}
			h := startManager(t, channelstest.NewOutbox(), map[string]channels.Channel{"x": k}, opt)
			synctest.Wait()
			send := func() (notes string) {
				in := k.say
				in.Files = []channels.File{memoryFile("a.bin", make([]byte, 15<<20)), memoryFile("b.bin", make([]byte, 15<<20))}
				if _, err := k.r.Receive(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				all := h.inbox.Heard()
				return strings.Join(all[len(all)-1].Outside, " ")
			}
			var last string
			for range 5 {
				last = send()
			}
			if refused := strings.Contains(last, "are limited to 100 MB per hour"); refused == owner || !owner && kept != 6 || owner && kept != 10 {
				t.Errorf("owner %v: %d files were stored, %q", owner, kept, last)
			}
			time.Sleep(time.Hour)
			if last = send(); strings.Contains(last, "per hour") {
				t.Errorf("one hour later: %s", last)
			}
			h.stopManager(t)
		})
	}
}
