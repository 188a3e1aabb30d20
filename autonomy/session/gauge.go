package session

// charsPerToken is less than any text in any language has; four, the usual
// guess, is far too much for other languages than English.
const charsPerToken = 2.5

// gauge is how a conversation was counted last.
type gauge struct {
	ratio    float64 // bytes that make a token
	overhead int     // bytes of a request that are not messages
}

// Counted notes what a provider counted for a request of so many bytes, of
// which overhead were not messages.
func (s *Sessions) Counted(session string, chars, overhead, tokens int) {
	if chars <= 0 || tokens <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gauges) >= 4*cached { // the next answer counts again
		clear(s.gauges)
	}
	s.gauges[session] = gauge{min(max(float64(chars)/float64(tokens), 0.5), 8), overhead}
}

// PerToken is how many bytes of this conversation a token is: by the
// provider's last count, before the first one a cautious guess.
func (s *Sessions) PerToken(session string) float64 { return s.gaugeOf(session).ratio }

func (s *Sessions) gaugeOf(session string) gauge {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.gauges[session]
	if !ok {
		g.ratio = charsPerToken
	}
	return g
}
