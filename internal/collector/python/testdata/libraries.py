# Values as libraries make them, which an LLM is to know at a glance.
import django
import numpy as np
import pandas as pd
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from starlette.requests import Request

settings.configure()
django.setup()


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str]


def show(x):
    return 1


show(pd.DataFrame({"day": [1, 2], "store": ["a", "b"]}))
show(pd.Series([1.5, 2.0]))
show(np.arange(3))
show(np.arange(9))
request = HttpRequest()
request.method, request.path = "GET", "/items/7"
show(request)
show(JsonResponse({"a": 1}, status=201))
show(Request({"type": "http", "method": "PUT", "path": "/b", "headers": []}))
show(Order(id=7, note="n"))
