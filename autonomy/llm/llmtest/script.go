package llmtest

import (
	"fmt"
	"regexp"
	"sync"
)

// script selects the scripted answer for each request.
type script struct {
	reply     func(Request) (Answer, bool)
	otherwise *Answer

	mu      sync.Mutex
	entries []entry
}

type entry struct {
	answer        Answer
	match, result *regexp.Regexp
	left          int // number of uses left; negative means unlimited
}

func newScript(o Options, answers []Answer) (*script, error) {
	s := &script{reply: o.Reply, otherwise: o.Otherwise}
	return s, s.addAnswers(answers)
}

func (s *script) addAnswers(answers []Answer) error {
	var entries []entry
	for i, a := range answers {
		e := entry{answer: a, left: max(a.Times, 1)}
		if a.isEndless() {
			e.left = -1
		}
		var err error
		if e.match, err = compileMatch(a.Match); err == nil {
			e.result, err = compileMatch(a.Result)
		}
		if err != nil {
			return fmt.Errorf("llmtest: answer %d: %w", i+1, err)
		}
		entries = append(entries, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, entries...)
	return nil
}

func compileMatch(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	return regexp.Compile("(?s)" + expr)
}

// nextAnswer returns the answer to a request.
func (s *script) nextAnswer(r Request) (Answer, bool) {
	if a, ok := s.takeMatch(r); ok {
		return a, true
	}
	if s.reply != nil {
		if a, ok := s.reply(r); ok {
			return a, true
		}
	}
	if s.otherwise != nil {
		return *s.otherwise, true
	}
	return Answer{}, false
}

func (s *script) takeMatch(r Request) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inOrder := -1
	for i := range s.entries {
		e := &s.entries[i]
		if e.left == 0 {
			continue
		}
		if e.match == nil && e.result == nil {
			if inOrder < 0 {
				inOrder = i
			}
			continue
		}
		if e.matchesRequest(r) {
			e.left--
			return e.answer, true
		}
	}
	if inOrder < 0 {
		return Answer{}, false
	}
	s.entries[inOrder].left--
	return s.entries[inOrder].answer, true
}

func (e *entry) matchesRequest(r Request) bool {
	if e.match != nil && !e.match.MatchString(r.LastUser) {
		return false
	}
	if e.result == nil {
		return true
	}
	return len(r.Results) > 0 && e.result.MatchString(r.Results[len(r.Results)-1].Text)
}

// unusedAnswers lists the answers that have uses left, except unlimited ones.
func (s *script) unusedAnswers() []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Answer
	for _, e := range s.entries {
		if e.left > 0 {
			out = append(out, e.answer)
		}
	}
	return out
}
