package a11y

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/platform/host/desktop/desktoptest"
)

// startZenity shows a dialog on a private bus and a private display.
func startZenity(t *testing.T, args ...string) (getenv func(string) string, cmd *exec.Cmd) {
	t.Helper()
	cmd, env := desktoptest.Dialog(t, append(args, "--title=The question", "--text=Shall it be?", "--ok-label=Yes please", "--cancel-label=Never")...)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return func(k string) string {
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, k+"="); ok {
				return v
			}
		}
		return ""
	}, cmd
}

func TestTree_PressesARealButton(t *testing.T) {
	getenv, cmd := startZenity(t, "--question")
	r := New(Options{Getenv: getenv, Wait: 30 * time.Second})
	var yes Node
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		list, more, err := r.Read(t.Context(), "question")
		if i := slices.IndexFunc(list, func(n Node) bool { return n.Name == "Yes please" && n.Does != "" }); i >= 0 {
			yes = list[i]
			if more || yes.PID != cmd.Process.Pid || !slices.ContainsFunc(list, func(n Node) bool { return strings.Contains(n.Name+n.Text, "Shall it be?") }) {
				t.Errorf("%v %+v", more, list)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("read %+v %v", list, err)
		}
	}
	other := yes
	other.Name = "No"
	if err := r.Do(t.Context(), other); !errors.Is(err, ErrGone) {
		t.Errorf("Do with another element = %v", err)
	}
	if err := r.Do(t.Context(), yes); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("zenity did not get the press: %v", err)
	}
	if list, _, err := r.Read(t.Context(), "question"); err != nil || len(list) != 0 {
		t.Errorf("the dialog still exists: %+v %v", list, err)
	}
}

// Fill sets the text of a real field, even if another window is in front. It neither fills nor
// reads a password field.
func TestTree_FillsARealField(t *testing.T) {
	for kind, secret := range map[string]bool{"--entry": false, "--password": true} {
		t.Run(kind, func(t *testing.T) {
			getenv, cmd := startZenity(t, kind)
			r := New(Options{Getenv: getenv, Wait: 30 * time.Second})
			var field, ok Node
			for end := time.Now().Add(30 * time.Second); field.Ref == "" || ok.Ref == ""; time.Sleep(20 * time.Millisecond) {
				list, _, err := r.Read(t.Context(), "question")
				for _, n := range list {
					switch {
					case n.Takes || n.Secret:
						field = n
					case n.Name == "Yes please" && n.Does != "":
						ok = n
					}
				}
				if time.Now().After(end) {
					t.Fatalf("read %+v %v", list, err)
				}
			}
			if field.Secret != secret || secret && (field.Takes || field.Text != "") {
				t.Errorf("%+v", field)
			}
			err := r.Fill(t.Context(), field, "Elm 5, \u00e9 \u4e16")
			if errors.Is(err, ErrGone) != secret || err != nil && !secret {
				t.Fatal(err)
			}
			if err := r.Do(t.Context(), ok); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if got, want := strings.TrimSpace(cmd.Stdout.(*bytes.Buffer).String()), map[bool]string{false: "Elm 5, \u00e9 \u4e16", true: ""}[secret]; got != want {
				t.Errorf("output %q, want %q", got, want)
			}
		})
	}
}
