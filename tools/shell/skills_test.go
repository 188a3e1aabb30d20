package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/platform/host/command"
	"hob/platform/host/denypaths"
	"hob/tools"
)

// A script of a skill runs after an approval that is bound to its content. The script cannot change
// the folder of the skill, and the rest of Hob's home stays protected.
func TestScriptsOfSkills(t *testing.T) {
	b := newBench(t, command.Auto)
	home := filepath.Join(b.home, "hob")
	skills := filepath.Join(home, "skills")
	b.putFile("hob/skills/tea/scripts/brew.sh", "cat "+filepath.Join(skills, "tea", "leaf.txt")+"\ncat "+home+"/token\necho evil > "+filepath.Join(skills, "tea", "made")+"\n")
	b.putFile("hob/skills/tea/leaf.txt", "green\n")
	b.putFile("hob/skills.trust", "canary\n")
	judge, err := command.New(command.Options{
		Home: b.home, Allowed: []string{b.docs}, Readable: []string{skills},
		Places: denypaths.New(denypaths.Options{Home: b.home, Own: []string{home}, Allowed: []string{b.docs}, Readable: []string{skills}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := command.NewRunner(command.RunOptions{Judge: judge, Sandbox: command.Auto, Helper: []string{exe, command.Helper}})
	if err != nil {
		t.Fatal(err)
	}
	s := shell{Deps{Judge: judge, Runner: runner}}
	in := runIn{Command: "sh " + filepath.Join(skills, "tea", "scripts", "brew.sh")}
	j := s.assessCommand(t.Context(), in)
	if j.Refused != nil || j.Listed {
		t.Fatalf("refused %v, listed %v", j.Refused, j.Listed)
	}
	for _, text := range []string{"cat " + home + "/skills.trust", "cat " + skills + "/../token", "cat " + home + "/token", "ls " + home, "ls " + skills} {
		if j := s.assessCommand(t.Context(), runIn{Command: text}); j.Refused == nil {
			t.Errorf("%s is not refused", text)
		}
	}
	if runner.Sandbox(t.Context()).Kind() != "" {
		r, err := s.runCommand(t.Context(), tools.Call{Exact: j.Exact, Progress: func(float64, string) {}}, in)
		if err != nil || !strings.Contains(r.Text, "green") || strings.Contains(r.Text, "canary") {
			t.Errorf("%q, %v", r.Text, err)
		}
		if _, err := os.Stat(filepath.Join(skills, "tea", "made")); err == nil {
			t.Error("the script changed its folder")
		}
	}
	b.putFile("hob/skills/tea/scripts/brew.sh", "echo other\n")
	if s.assessCommand(t.Context(), in).Exact == j.Exact {
		t.Error("the approval is the same for another script")
	}
}
