package media

func newBackend(o Options) backend { return mac{o.Scripts} }
