package session

// charsPerToken is below the value of any text in any language. The usual guess of four is too
// high for languages other than English.
const charsPerToken = 2.5

// tokenRatio is the last token count of a conversation.
type tokenRatio struct {
	ratio    float64 // bytes per token
	overhead int     // bytes of a request outside the messages
}

// RecordTokenCount records the provider's token count for a request of chars bytes, overhead of them
// outside the messages.
func (s *Sessions) RecordTokenCount(session string, chars, overhead, tokens int) {
	if chars <= 0 || tokens <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gauges) >= 4*cached { // the next answer is counted again
		clear(s.gauges)
	}
	s.gauges[session] = tokenRatio{min(max(float64(chars)/float64(tokens), 0.5), 8), overhead}
}

// BytesPerToken returns the bytes per token of this conversation: by the provider's last count,
// initially a conservative estimate.
func (s *Sessions) BytesPerToken(session string) float64 { return s.gaugeOf(session).ratio }

func (s *Sessions) gaugeOf(session string) tokenRatio {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.gauges[session]
	if !ok {
		g.ratio = charsPerToken
	}
	return g
}
