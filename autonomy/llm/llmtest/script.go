package llmtest

import (
	"fmt"
	"regexp"
	"sync"
)

// script selects the answers.
type script struct {
	reply     func(Request) (Answer, bool)
	otherwise *Answer

	mu      sync.Mutex
	entries []entry
}

type entry struct {
	answer        Answer
	match, result *regexp.Regexp
	left          int // uses left, negative unlimited
}

func newScript(o Options, answers []Answer) (*script, error) {
	s := &script{reply: o.Reply, otherwise: o.Otherwise}
	return s, s.add(answers)
}

func (s *script) add(answers []Answer) error {
	var entries []entry
	for i, a := range answers {
		e := entry{answer: a, left: max(a.Times, 1)}
		if a.endless() {
			e.left = -1
		}
		var err error
		if e.match, err = compile(a.Match); err == nil {
			e.result, err = compile(a.Result)
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

func compile(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	return regexp.Compile("(?s)" + expr)
}

// next finds the answer to a request.
func (s *script) next(r Request) (Answer, bool) {
	if a, ok := s.take(r); ok {
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

func (s *script) take(r Request) (Answer, bool) {
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
		if e.fits(r) {
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

func (e *entry) fits(r Request) bool {
	if e.match != nil && !e.match.MatchString(r.LastUser) {
		return false
	}
	if e.result == nil {
		return true
	}
	return len(r.Results) > 0 && e.result.MatchString(r.Results[len(r.Results)-1].Text)
}

// unused lists the answers that were never used, except unlimited ones.
func (s *script) unused() []Answer {
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
