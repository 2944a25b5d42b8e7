"""As keeper.c, in Python."""
import os


class Settings:
    def __init__(self, host, api_key):
        self.host, self.api_key = host, api_key
        self.nested = {"db_password": api_key, "port": 5432, 7: [{"Cookie": api_key}]}


def login(user, password, *, token=None):
    return len(user)


def configure(settings, headers):
    return settings


def get_token():
    return os.environ["KEEPER_PASSWORD"]


def each(secret):
    yield {"secret": secret, "plain": "neighbour"}


def fails(password):
    raise ValueError("neighbour")


def main():
    login("neighbour", get_token(), token=get_token())
    configure(Settings("neighbour", get_token()), {"Authorization": get_token(), "Accept": "neighbour"})
    list(each(get_token()))
    fails(get_token())


main()
