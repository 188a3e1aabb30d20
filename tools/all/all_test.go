package all

import (
	"testing"

	"hob/tools/toolstest"
)

func TestConformance(t *testing.T) {
	var cases []toolstest.Case
	for _, list := range [][]toolstest.Case{fileCases(), shellCases(), messageCases(), memoryCases(), taskCases(), reminderCases(), watchCases(), countCases(), canvasCases(), sendCases(), travelCases(), webCases(), accountCases(), browserCases(), desktopCases(), mediaCases()} {
		cases = append(cases, list...)
	}
	toolstest.Run(t, toolstest.Suite{Open: openEnv, Cases: cases, Ignore: []string{"watchers.next_at", "file_watches.since", "watcher_polls.begun_at"}})
}

// maxCore limits the total size of the core tools, which every prompt contains: the bytes of their
// names, descriptions and schemas. Four bytes are about one token, and the prompt of "hello" may
// have 2,000 tokens.
const maxCore = 4500

func TestCore_HasASizeLimit(t *testing.T) {
	total := 0
	for _, x := range openEnv(t).Tools {
		if s := x.Spec(); s.Core {
			total += len(s.Name) + len(s.Description) + len(s.Schema.Raw())
		}
	}
	t.Logf("the core tools have %d bytes", total)
	if total > maxCore {
		t.Errorf("the core tools have %d bytes, want at most %d", total, maxCore)
	}
}
