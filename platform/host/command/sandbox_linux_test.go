package command

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// listSandboxes returns the sandboxes of this machine.
func listSandboxes(t *testing.T, b *bench) map[string]*Runner {
	t.Helper()
	out := map[string]*Runner{}
	for _, kind := range []string{"bubblewrap", "landlock"} {
		r := b.newRunner(t, Require)
		found := b.judge.findSandbox(t.Context())
		if kind == "landlock" {
			found = sandbox{}
			if abi, err := llsys.LandlockGetABIVersion(); err == nil && abi >= 1 {
				found.kind = kind
			}
		}
		if found.kind != kind {
			t.Logf("%s is not available: %s", kind, found.missing)
			continue
		}
		r.looked, r.found = time.Now(), found
		out[kind] = r
	}
	if len(out) == 0 {
		t.Skip("this machine has no sandbox")
	}
	return out
}

func TestSandbox(t *testing.T) {
	b := newRepositoryHome(t)
	var config net.ListenConfig
	server, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("reached\n"))
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	// the Analyzer cannot see a path written in two parts, as in a program
	secret := "d=" + b.home + "; cat $d/.s''sh/id_ed''25519 $d/ho''b/to''ken; ls $d/.s''sh $d/ho''b"
	reach := "exec 3<>/d''ev/tcp/127.0.0.1/" + port + " && head -1 <&3"
	for kind, r := range listSandboxes(t, b) {
		t.Run(kind, func(t *testing.T) {
			for name, c := range map[string]struct {
				plan       Plan
				want, dont string
			}{
				"it works":                     {Plan{Shell: "cat notes.txt | sort; id -u; ls | wc -l"}, "one", "ermission denied"},
				"it writes where it may":       {Plan{Shell: "echo hi > made && cat made", Writes: true}, "hi", ""},
				"temporary files":              {Plan{Shell: "f=$(mktemp) && echo tmp > $f && cat $f"}, "tmp", ""},
				"it writes nowhere else":       {Plan{Shell: "echo x > ../other/x.txt; echo x > " + b.home + "/new; cat ../other/x.txt", Writes: true}, "", ""},
				"it only reads":                {Plan{Shell: "echo x > looked"}, "", ""},
				"hooks of the repository":      {Plan{Shell: "echo evil >> .g''it/config; echo evil > .g''it/hooks/x", Dir: b.docs + "/repo", Writes: true}, "", ""},
				"keys and Hob's home":          {Plan{Shell: secret, Writes: true, Network: true}, "", "canary"},
				"environments of others":       {Plan{Shell: "cat /pr''oc/[0-9]*/env''iron | tr '\\0' '\\n' | grep CANARY_OF_HOB"}, "", "CANARY_OF_HOB="},
				"what it needs not see":        {Plan{Shell: "cat " + b.home + "/oth''er/x.txt", Hidden: true}, "", "canary"},
				"and what it needs":            {Plan{Shell: "cat " + b.docs + "/notes.txt", Hidden: true}, "one", ""},
				"no network":                   {Plan{Shell: reach}, "", "reached"},
				"a network that was asked for": {Plan{Shell: reach, Network: true}, "reached", ""},
			} {
				t.Run(name, func(t *testing.T) {
					t.Setenv("CANARY_OF_HOB", "1")
					if strings.Contains(name, "repository") && kind == "landlock" {
						t.Skip("Landlock can only open folders; it cannot protect a part of an open folder, and sandbox.missing reports that")
					}
					if c.plan.Dir == "" {
						c.plan.Dir = b.docs
					}
					out, err := r.Run(t.Context(), c.plan, time.Minute, func(int64) {})
					if err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(out.Output, c.want) || c.dont != "" && strings.Contains(out.Output, c.dont) || out.Sandbox != kind {
						t.Errorf("in %q: %d %s", out.Sandbox, out.Status, out.Output)
					}
				})
			}
			for name, want := range map[string]string{"other/x.txt": "canary", ".ssh/id_ed25519": "canary"} {
				if text, err := os.ReadFile(filepath.Join(b.home, name)); err != nil || string(text) != want {
					t.Errorf("%s contains %q, %v", name, text, err)
				}
			}
			for _, name := range []string{"new", "Documents/looked", "Documents/repo/.git/hooks/x"} {
				if b.hasFile(name) {
					t.Errorf("%s was created", name)
				}
			}
			if text, _ := os.ReadFile(filepath.Join(b.docs, "repo/.git/config")); strings.Contains(string(text), "evil") {
				t.Error("the settings of the repository were changed")
			}
		})
	}
}

func TestSandboxIsLookedForOnce(t *testing.T) {
	b := newRepositoryHome(t)
	r := b.newRunner(t, Auto)
	first := r.Sandbox(context.Background())
	if again := r.Sandbox(context.Background()); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if off := b.newRunner(t, Off).Sandbox(context.Background()); off.Kind() != "" || off.Missing() == "" {
		t.Errorf("runner with sandbox off: %+v", off)
	}
}
