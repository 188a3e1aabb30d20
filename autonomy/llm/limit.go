package llm

// safeOutput is an output length that every current model supports, in tokens.
const safeOutput = 4096

// Limit returns the output limit to send: the smaller of the request's and own, the limit of
// the user or the driver (0 = none). Without own, it omits a limit above safeOutput, since
// models reject limits above their maximum; 0 means that no limit is sent.
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
