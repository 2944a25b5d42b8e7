# Objects as web frameworks make them: what tells most is not what was set first.


class Request:
    def __init__(self, environ):
        self._state = "private"
        self.environ = environ
        self.method = "GET"
        self.path = "/items/7"


class Row:
    def __init__(self, i):
        self._state = {"adding": False}
        self.id = i
        self.name = "row %d" % i


def show(request, row):
    return row


show(Request({"HOME": "/"}), Row(1))
