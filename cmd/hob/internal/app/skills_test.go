package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/autonomy/llm/llmtest"
	"hob/templates"
)

// A skill of the active template is added to the requests that match it, and to no others. It is
// untrusted text if the template is not the owner's.
func TestSkills_OfTheActiveTemplate(t *testing.T) {
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key, Otherwise: &llmtest.Answer{Text: "Well."}})
	h := openScripted(t, t.TempDir(), model.URL, listPlayWays()[0], "")
	use := func(s templates.State) {
		t.Helper()
		path := templates.StatePath(h.d.opt.Paths.TemplateState())
		failOnError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		b, err := json.Marshal(s)
		failOnError(t, err)
		failOnError(t, os.WriteFile(path, b, 0o600))
	}
	const steps = "Collect the receipts first."
	skill := []templates.Skill{{Name: "expense-report", Description: "how expense reports are written", Text: steps}}
	asked := func(text string) string {
		h.askHob(text)
		return string(model.Last().Body)
	}
	if strings.Contains(asked("write the expense report"), steps) {
		t.Error("a skill is read without a template")
	}
	use(templates.State{Name: "owl", Origin: templates.Folder, Skills: skill})
	if strings.Contains(asked("what is new today?"), steps) {
		t.Error("a skill is read for an unrelated request")
	}
	got := asked("write the expense report for March")
	at := strings.Index(got, steps)
	if at < 0 || !strings.Contains(got[max(0, at-300):at], "outside") {
		t.Errorf("the skill is not marked as untrusted text: %s", got)
	}
	use(templates.State{})
	if n := strings.Count(asked("write the expense report for April"), steps); n > 1 { // the history still contains the first copy
		t.Errorf("the skill of a removed template occurs %d times", n)
	}
}
