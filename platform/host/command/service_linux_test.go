package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A service in a sandbox sees its own files and the files named in its arguments, but no protected
// path.
func TestServiceCommand_ConfinesProgram(t *testing.T) {
	t.Setenv("HOB_OF_PARENT", "canary-variable")
	b := newRepositoryHome(t)
	for kind, r := range listSandboxes(t, b) {
		t.Run(kind, func(t *testing.T) {
			home := filepath.Join(b.home, "hob", "servers", kind)
			work := filepath.Join(b.home, "work-"+kind)
			for _, dir := range []string{home, work} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			named := filepath.Join(b.home, "named-"+kind)
			if err := os.WriteFile(named, []byte("named file\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			script := `cat; cat "$1"; cat "$2/.ssh/id_ed25519" "$2/hob/token"; cat "$2/Documents/notes.txt"; ls "$2/other"; echo own > "$HOME/made"; echo shared > "$3/made"; echo bad > "$2/other/made"; echo bad > "$2/new"; env`
			cmd, got, err := r.ServiceCommand(t.Context(), Service{
				Program: "sh", Args: []string{"-c", script, "sh", named, b.home, work}, Env: []string{"GIVEN=variable"}, Home: home, Confine: true, Write: []string{work},
			})
			if err != nil || got != kind {
				t.Fatalf("ServiceCommand = %q, %v", got, err)
			}
			text, status := runService(t, cmd.Args, cmd.Dir, cmd.Env)
			for _, want := range []string{"hello", "named file", "GIVEN=variable"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing (status %d):\n%s", want, status, text)
				}
			}
			for _, dont := range []string{"canary", "HOB_OF_PARENT", "HOB_COMMAND"} {
				if strings.Contains(text, dont) {
					t.Errorf("the environment contains %q:\n%s", dont, text)
				}
			}
			for path, want := range map[string]bool{home + "/made": true, work + "/made": true, b.home + "/other/made": false, b.home + "/new": false} {
				if _, err := os.Stat(path); (err == nil) != want {
					t.Errorf("%s exists: %v, want %v", path, err == nil, want)
				}
			}
		})
	}
	none := b.newRunner(t, Off)
	if _, _, err := none.ServiceCommand(t.Context(), Service{Program: "sh", Home: b.home, Confine: true}); !errors.Is(err, ErrNoSandbox) {
		t.Errorf("ServiceCommand without a sandbox = %v", err)
	}
	if _, _, err := none.ServiceCommand(t.Context(), Service{Program: "/nonexistent/x", Home: b.home}); !errors.Is(err, ErrNotFound) {
		t.Errorf("ServiceCommand with a missing program = %v", err)
	}
	for kind, r := range listSandboxes(t, b) {
		if _, _, err := r.ServiceCommand(t.Context(), Service{Program: "sh", Home: b.home + "/hob/x", Confine: true, Write: []string{b.home + "/.ssh"}}); !errors.Is(err, ErrProtected) {
			t.Errorf("%s: a protected folder to write: %v", kind, err)
		}
	}
}

// runService runs a service with one line of input, and returns its output and exit status.
func runService(t *testing.T, args []string, dir string, env []string) (string, int) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{f, out, out}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(b)), state.ExitCode()
}
