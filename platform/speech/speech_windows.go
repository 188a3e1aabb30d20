package speech

func newBackend(o Options) backend { return sapi{o.Scripts} }
