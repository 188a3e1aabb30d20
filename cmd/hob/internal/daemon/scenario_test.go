package daemon

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hob/autonomy/llm/llmtest"
)

// Each file of testdata is a conversation through the whole program, with a
// scripted model behind each of the real wire formats (see llmtest.ParseScript
// for the sections model/NAME). The section talk holds, line by line,
//
//	> what the owner says
//	< a regular expression which the answer fits
//	? a regular expression which the question to the owner fits
//	! a regular expression which a notice fits
//	~ a regular expression which a reply fits that comes later
//	@ a regular expression which the last request to the model fits
//	= PATH: what a file below the home then holds, or nothing if there is none
//
// Other sections named home/PATH are files that are there beforehand.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	fatal(t, err)
	for _, file := range files {
		for _, kind := range []string{"openai", "anthropic"} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+kind, func(t *testing.T) {
				a, err := txtar.ParseFile(file)
				fatal(t, err)
				play(t, a, kind)
			})
		}
	}
}

func play(t *testing.T, a *txtar.Archive, kind string) {
	script, err := llmtest.ParseScript(a)
	fatal(t, err)
	model := llmtest.NewServer(t, llmtest.Options{Key: llmtest.Key}, script...)
	t.Setenv("TEST_KEY", llmtest.Key)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HOB_HOME", filepath.Join(home, "hob"))
	fatal(t, os.MkdirAll(filepath.Join(home, "Documents"), 0o700))
	var talk string
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "home/"); ok {
			fatal(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
			fatal(t, os.WriteFile(filepath.Join(home, name), f.Data, 0o600))
		}
		if f.Name == "talk" {
			talk = string(f.Data)
		}
	}
	url := model.URL
	if kind == "openai" {
		url += "/v1"
	}
	h := openAtModel(t, home, "test/scripted", fmt.Sprintf("[providers.test]\nkind = %q\nbase_url = %q\napi_key = \"env:TEST_KEY\"\n", kind, url))
	s := &scene{house: h, model: model}
	for line := range strings.Lines(talk) {
		s.line(strings.TrimSpace(line))
	}
	for _, left := range model.Unused() {
		t.Errorf("the model was never asked for: %+v", left)
	}
}

type scene struct {
	*house
	model  *llmtest.Server
	answer string
}

func (s *scene) line(line string) {
	s.t.Helper()
	mark, rest, _ := strings.Cut(line, " ")
	fits := func(what, text string) {
		s.t.Helper()
		if !regexp.MustCompile(rest).MatchString(text) {
			s.t.Errorf("%s: %s %q does not fit", line, what, text)
		}
	}
	switch mark {
	case ">":
		code, body := s.api(http.MethodPost, "/api/v1/sessions/home/messages", map[string]string{"text": rest})
		s.answer = ""
		if code != http.StatusOK && code != http.StatusAccepted {
			s.t.Fatalf("%s: %d %s", line, code, body)
		}
		s.answer = string(body)
	case "<":
		fits("the answer", s.answer)
	case "?":
		s.wait("question", rest)
	case "!":
		s.wait("notice", rest)
	case "~":
		s.wait("reply", rest)
	case "@":
		all := s.model.Requests()
		fits("the last request", string(all[len(all)-1].Body))
	case "=":
		name, want, _ := strings.Cut(rest, ": ")
		b, err := os.ReadFile(filepath.Join(s.home, name))
		if want == "" && os.IsNotExist(err) {
			return
		}
		if got := strings.TrimSpace(string(b)); got != want {
			s.t.Errorf("%s holds %q, want %q (%v)", name, got, want, err)
		}
	case "":
	default:
		s.t.Fatalf("a line of talk begins with %q", mark)
	}
}
