package llm

// safeOutput is what every present model can write in one answer, in tokens.
const safeOutput = 4096

// Limit is the output limit that a driver sends, given the owner's or the
// driver's own (0 = none): the smaller of the two. Without an own one, a limit
// above what every model can write is not sent at all, since models refuse to
// be asked for more than they can; 0 means none is sent.
func (r Request) Limit(own int) int {
	switch {
	case r.MaxTokens <= 0:
		return own
	case own > 0:
		return min(own, r.MaxTokens)
	case r.MaxTokens > safeOutput:
		return 0
	}
	return r.MaxTokens
}
