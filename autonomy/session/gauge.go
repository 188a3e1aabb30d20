package session

// charsPerToken is below the actual value for any text in any language. The usual estimate of four
// is too high for languages other than English.
const charsPerToken = 2.5

// tokenRatio is the last token count for a conversation.
type tokenRatio struct {
	ratio    float64 // bytes per token
	overhead int     // bytes in a request that are not part of the messages
}

// RecordTokenCount records the provider's token count for a request of chars bytes, of which
// overhead bytes are not part of the messages.
func (s *Sessions) RecordTokenCount(session string, chars, overhead, tokens int) {
	if chars <= 0 || tokens <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gauges) >= 4*cached { // the tokens are counted again with the next answer
		clear(s.gauges)
	}
	s.gauges[session] = tokenRatio{min(max(float64(chars)/float64(tokens), 0.5), 8), overhead}
}

// BytesPerToken returns the number of bytes per token in this conversation, based on the provider's
// last count. Before the first count it returns a conservative estimate.
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
