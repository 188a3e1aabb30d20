package speech

func newBackend(o Options) backend { return sapiVoice{o.Scripts} }
