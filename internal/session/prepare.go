package session

// prepare makes ready what people ask of a recording first, once its program has ended. Nobody waits for it.
func (s *Session) prepare() {
	if s.m.cfg.Prepare == nil {
		return
	}
	select {
	case <-s.over:
	case <-s.stopping:
		return
	}
	st, use, release, err := s.Use(s.ctx)
	if err != nil {
		return // it is being stopped
	}
	defer release()
	if err := s.m.cfg.Prepare(use, st); err != nil && use.Err() == nil {
		s.log.Warn("draw the timeline", "err", err)
	}
}
