def test_never_seen()
    pass
