"""Where a parameter of `solve` may be: a ledger is refused where it has changed, or a warning names the place.

A place makes a `solve` whose answers depend on one number. A run pays with one number and ends. The next one has
another number: nothing that was paid may be used without a word.
"""

import builtins
import collections
import configparser
import contextlib
import contextvars
import ctypes
import dataclasses
import datetime
import enum
import functools
import importlib
import importlib.util
import io
import itertools
import linecache
import operator
import os
import random
import re
import runpy
import sys
import threading
import types
import warnings
import weakref
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle

Y = np.arange(20.0).reshape(10, 2)
HERE = sys.modules[__name__]
LIMIT, LIMITS = 0, {}  # of the places below
PLACES = {}


def place(make):
    PLACES[make.__name__] = make
    return make


def cost(y, z):
    return float(abs(y - z).sum())


class Around:
    """What a place may need of a test: patches that end with it, and modules on disk."""

    def __init__(self, monkeypatch, folder):
        self.patch, self.folder = monkeypatch, folder

    def module(self, name, text):
        """A new file of that name, not loaded yet, as in a new process."""
        (self.folder / f"{name}.py").write_text(text)
        self.patch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()

    def loaded(self, name, text):
        self.module(name, text)
        return importlib.import_module(name)


@pytest.fixture
def around(monkeypatch, tmp_path):
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield Around(monkeypatch, folder)
    for name, module in list(sys.modules.items()):
        if str(folder) in (getattr(module, "__file__", None) or ""):
            del sys.modules[name]


@place
def closure(n, around):
    return lambda y: y * n


@place
def default_argument(n, around):
    def solve(y, limit=n):
        return np.minimum(y, limit)

    return solve


@place
def keyword_default(n, around):
    def solve(y, *, limit=n):
        return np.minimum(y, limit)

    return solve


@place
def mutable_default(n, around):
    def solve(y, limits=[n]):  # noqa: B006
        return np.minimum(y, limits[0])

    return solve


@place
def partial_argument(n, around):
    return functools.partial(lambda y, limit: np.minimum(y, limit), limit=n)


@place
def partial_position(n, around):
    return functools.partial(np.minimum, n)


@place
def global_number(n, around):
    around.patch.setattr(HERE, "LIMIT", n, raising=False)

    def solve(y):
        return y * LIMIT

    return solve


@place
def global_dict(n, around):
    around.patch.setattr(HERE, "LIMITS", {"a": {"b": [n]}}, raising=False)

    def solve(y):
        return y * LIMITS["a"]["b"][0]

    return solve


@place
def global_by_globals(n, around):
    around.patch.setattr(HERE, "LIMIT", n, raising=False)

    def solve(y):
        return y * globals()["LIMIT"]

    return solve


@place
def global_by_a_computed_name(n, around):
    around.patch.setattr(HERE, "LIMIT", n, raising=False)

    def solve(y):
        return y * globals()["LIM" + "IT".upper()]

    return solve


@place
def name_of_builtins(n, around):
    around.patch.setattr(builtins, "PLANT_LIMIT", n, raising=False)

    def solve(y):
        return y * PLANT_LIMIT  # noqa: F821

    return solve


@place
def module_attribute(n, around):
    settings = around.loaded("plant_settings", f"LIMIT = {n}")
    return lambda y: y * settings.LIMIT


@place
def module_of_a_package(n, around):
    (around.folder / "plant_package").mkdir(exist_ok=True)
    (around.folder / "plant_package" / "__init__.py").write_text("")
    for name in ("plant_package", "plant_package.data"):
        around.patch.delitem(sys.modules, name, raising=False)
    (around.folder / "plant_package" / "data.py").write_text(f"LIMIT = {n}")
    importlib.invalidate_caches()
    importlib.import_module("plant_package.data")
    plants = sys.modules["plant_package"]
    return lambda y: y * plants.data.LIMIT


@place
def module_by_vars(n, around):
    settings = around.loaded("plant_settings", f"LIMIT = {n}")
    return lambda y: y * vars(settings)["LIMIT"]


@place
def module_by_getattr(n, around):
    settings = around.loaded("plant_settings", f"LIMIT = {n}")
    return lambda y: y * getattr(settings, "LIM" + "IT")


@place
def module_by_sys_modules(n, around):
    around.loaded("plant_settings", f"LIMIT = {n}")

    def solve(y):
        return y * sys.modules["plant_settings"].LIMIT

    return solve


@place
def module_by_import_module(n, around):
    around.module("plant_settings", f"LIMIT = {n}")

    def solve(y):
        return y * importlib.import_module("plant_settings").LIMIT

    return solve


@place
def module_by_a_computed_name(n, around):
    around.loaded("plant_settings", f"LIMIT = {n}")

    def solve(y):
        return y * sys.modules["_".join(["plant", "settings"])].LIMIT

    return solve


@place
def import_in_the_body(n, around):
    around.module("plantdata", f"LIMIT = {n}")

    def solve(y):
        from plantdata import LIMIT

        return y * LIMIT

    return solve


@place
def import_of_a_module_in_the_body(n, around):
    around.module("plantdata", f"LIMIT = {n}")

    def solve(y):
        import plantdata as data

        return y * data.LIMIT

    return solve


@place
def import_in_the_body_of_a_helper(n, around):
    around.module("plantdata", f"LIMIT = {n}")

    def limit():
        import plantdata

        return plantdata.LIMIT

    return lambda y: y * limit()


@place
def import_in_the_body_of_a_module(n, around):
    around.module("plantdata", f"LIMIT = {n}")
    helper = around.loaded("planthelper", "def limit():\n    from plantdata import LIMIT\n    return LIMIT\n")
    return lambda y: y * helper.limit()


@place
def code_of_another_module(n, around):
    helper = around.loaded("planthelper", f"def limit(y):\n    return y * {n}\n")
    return lambda y: helper.limit(y)


@place
def class_of_another_module(n, around):
    helper = around.loaded("planthelper", f"class Plant:\n    def solve(self, y):\n        return y * {n}\n")
    return lambda y: helper.Plant().solve(y)


@place
def constant_of_a_module_that_a_class_reads(n, around):
    text = f"LIMIT = {n}\n\nclass Plant:\n    def solve(self, y):\n        return y * self.limit()\n\n"
    helper = around.loaded("planthelper", text + "    def limit(self):\n        return LIMIT\n")
    plant = helper.Plant()
    return lambda y: plant.solve(y)


class Plant:
    NAMES = ("a",)

    def __init__(self, n):
        self.limit, self.solved, self.cache = n, 0, {}

    def solve(self, y):
        self.solved += 1
        self.cache[float(y[0])] = 1
        return y * self.limit


@place
def attribute_of_a_bound_object(n, around):
    return Plant(n).solve


@place
def attribute_beside_a_cache(n, around):
    plant = Plant(n)
    return lambda y: plant.solve(y)


@place
def attribute_that_only_one_has(n, around):
    plant = types.SimpleNamespace(**({"limit": n} if n == 5 else {}))
    return lambda y: y * getattr(plant, "limit", 1)


@place
def item_beside_a_cache(n, around):
    held = {"limit": n, "seen": []}

    def solve(y):
        held["seen"].append(1)
        return y * held["limit"]

    return solve


@place
def attribute_that_solve_assigns(n, around):
    class Normalised:
        def __init__(self):
            self.limit = n

        def solve(self, y):
            self.limit = float(self.limit)
            return y * self.limit

    return Normalised().solve


@place
def class_attribute(n, around):
    class Limited:
        LIMIT = n

    return lambda y: y * Limited.LIMIT


@place
def class_attribute_of_a_base(n, around):
    base = type("Base", (), {"LIMIT": n, "__module__": __name__})
    child = type("Child", (base,), {"__module__": __name__})
    return lambda y: y * child.LIMIT


@place
def descriptor(n, around):
    class Bound:
        def __init__(self, limit):
            self.limit = limit

        def __get__(self, instance, owner):
            return self.limit

    class Limited:
        limit = Bound(n)

        def solve(self, y):
            return y * self.limit

    return Limited().solve


@place
def metaclass(n, around):
    class Meta(type):
        LIMIT = n

    class Limited(metaclass=Meta):
        pass

    return lambda y: y * Limited.LIMIT


@place
def slots(n, around):
    class Limited:
        __slots__ = ("limit",)

        def __init__(self):
            self.limit = n

        def solve(self, y):
            return y * self.limit

    return Limited().solve


@place
def property_behind(n, around):
    class Limited:
        def __init__(self):
            self._held = n

        @property
        def limit(self):
            return self._held

        def solve(self, y):
            return y * self.limit

    return Limited().solve


@place
def classmethod_data(n, around):
    class Limited:
        LIMIT = n

        @classmethod
        def solve(cls, y):
            return y * cls.LIMIT

    return Limited.solve


@place
def callable_object(n, around):
    class Limited:
        def __init__(self):
            self.limit = n

        def __call__(self, y):
            return y * self.limit

    return Limited()


@place
def function_attribute(n, around):
    def solve(y):
        return y * solve.limit

    solve.limit = n
    return solve


@place
def attribute_of_a_helper_function(n, around):
    def helper(y):
        return y * helper.limit

    helper.limit = n
    return lambda y: helper(y)


@place
def decorator(n, around):
    def scaled(factor):
        def decorate(function):
            @functools.wraps(function)
            def wrapped(y):
                return function(y) * factor

            return wrapped

        return decorate

    @scaled(n)
    def solve(y):
        return y

    return solve


@place
def cached_function(n, around):
    @functools.lru_cache
    def limit():
        return n

    return lambda y: y * limit()


@place
def enum_member(n, around):
    class Limit(enum.Enum):
        MOST = n

    return lambda y: y * Limit.MOST.value


@place
def int_enum_member(n, around):
    class Limit(enum.IntEnum):
        MOST = n

    return lambda y: y * Limit.MOST


@place
def frozen_dataclass(n, around):
    @dataclasses.dataclass(frozen=True)
    class Limit:
        most: float

    limit = Limit(n)
    return lambda y: y * limit.most


@place
def number_of_a_class_of_its_own(n, around):
    class Limit(float):
        pass

    limit = Limit(n)
    return lambda y: y * limit


@place
def dict_of_a_class_of_its_own(n, around):
    class Config(dict):
        pass

    config = Config()
    config.limit = n
    return lambda y: y * config.limit


@place
def array(n, around):
    limits = np.full(2, float(n))
    return lambda y: y * limits


@place
def masked_array(n, around):
    limits = np.ma.masked_array([1.0, 5.0], mask=[n == 5, False])
    return lambda y: y * limits.filled(9.0)


@place
def array_of_objects(n, around):
    limits = np.array([n, "a"], dtype=object)
    return lambda y: y * limits[0]


@place
def text_in_memory(n, around):
    file = io.StringIO(str(n))
    return lambda y: y * float(file.getvalue())


@place
def context_variable(n, around):
    limit = contextvars.ContextVar("limit", default=n)
    return lambda y: y * limit.get()


@place
def thread_local(n, around):
    held = threading.local()
    held.limit = n
    return lambda y: y * held.limit


@place
def generator(n, around):
    numbers = (n for _ in itertools.count())
    return lambda y: y * next(numbers)


@place
def weak_reference(n, around):
    held = Plant(n)
    around.patch.setattr(HERE, "KEPT", held, raising=False)
    reference = weakref.ref(held)
    return lambda y: y * reference().limit


@place
def random_state(n, around):
    rng = random.Random(n)
    return lambda y: y * random.Random(rng.getstate()[1][0]).random()


@place
def regular_expression(n, around):
    pattern = re.compile(f"(?P<limit>{n})")
    return lambda y: y * float(pattern.pattern[-2])


@place
def getter_of_operator(n, around):
    get = operator.itemgetter(n)
    return lambda y: y * get(range(10))


@place
def memory_of_c(n, around):
    held = ctypes.c_double(n)
    return lambda y: y * held.value


@place
def named_tuple(n, around):
    limit = collections.namedtuple("Limit", "most")(n)
    return lambda y: y * limit.most


@place
def sparse_matrix(n, around):
    sparse = pytest.importorskip("scipy.sparse").csr_matrix([[float(n)]])
    return lambda y: y * sparse[0, 0]


@place
def data_frame(n, around):
    frame = pytest.importorskip("pandas").DataFrame({"limit": [n]})
    return lambda y: y * frame["limit"].iloc[0]


@place
def tensor(n, around):
    held = pytest.importorskip("torch").tensor([float(n)])
    return lambda y: y * held.item()


@place
def environment(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))

    def solve(y):
        return y * float(os.environ["PLANT_LIMIT"])

    return solve


@place
def environment_by_get(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))

    def solve(y):
        return y * float(os.environ.get("PLANT_LIMIT", "1"))

    return solve


@place
def environment_by_getenv(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))

    def solve(y):
        return y * float(os.getenv("PLANT_LIMIT"))

    return solve


@place
def environment_by_a_computed_name(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))

    def solve(y):
        return y * float(os.environ["PLANT" + "_limit".upper()])

    return solve


@place
def file_by_open(n, around):
    path = around.folder / "limit.txt"
    path.write_text(str(n))

    def solve(y):
        with open(path) as file:  # noqa: PTH123
            return y * float(file.read())

    return solve


@place
def file_by_path(n, around):
    path = around.folder / "limit.txt"
    path.write_text(str(n))
    return lambda y: y * float(path.read_text())


@place
def file_by_numpy(n, around):
    path = around.folder / "limit.npy"
    np.save(path, np.full(2, n))
    return lambda y: y * np.load(path)


@place
def file_by_pandas(n, around):
    pd = pytest.importorskip("pandas")
    path = around.folder / "limit.csv"
    path.write_text(f"limit\n{n}\n")
    return lambda y: y * pd.read_csv(path)["limit"].iloc[0]


@place
def file_by_a_library_that_the_body_imports(n, around):
    library = around.folder / "site-packages"
    library.mkdir(exist_ok=True)
    (library / "plant_files.py").write_text("def read_limit(path):\n    return float(path.read_bytes())\n")
    around.patch.syspath_prepend(library)
    around.patch.delitem(sys.modules, "plant_files", raising=False)
    path = around.folder / "limit.txt"
    path.write_text(str(n))

    def solve(y):
        import plant_files as files

        return y * files.read_limit(path)

    return solve


@place
def folder_by_listdir(n, around):
    folder = around.folder / "limits"
    folder.mkdir(exist_ok=True)
    for k in range(n):
        (folder / str(k)).write_text("")
    return lambda y: y * len(os.listdir(folder))  # noqa: PTH208


@place
def size_of_a_file(n, around):
    path = around.folder / "limit.txt"
    path.write_text("x" * n)
    return lambda y: y * os.path.getsize(path)  # noqa: PTH202


@place
def argument_of_the_program(n, around):
    around.patch.setattr(sys, "argv", ["program", str(n)])
    return lambda y: y * float(sys.argv[1])


@place
def arguments_of_the_program(n, around):
    around.patch.setattr(sys, "argv", ["program", str(n)])
    return lambda y: y * float(max(sys.argv[1:]))


class Kinds:
    kind = "a"

    def solve(self, y):
        return y * getattr(self, "limit_" + self.kind)()

    def solve_a(self, y):
        return y * getattr(self, "limit_a")()  # noqa: B009

    def limit_a(self):
        return LIMIT


@place
def method_by_a_computed_name(n, around):
    around.patch.setattr(HERE, "LIMIT", n)
    return Kinds().solve


@place
def method_by_getattr(n, around):
    around.patch.setattr(HERE, "LIMIT", n)
    return Kinds().solve_a


@place
def second_lambda_of_a_line(n, around):
    settings = around.loaded("plant_settings", f"LOW = 1\nHIGH = {n}")
    kinds = {"low": lambda y: y * settings.LOW, "high": lambda y: y * settings.HIGH}
    return kinds["high"]


def without_source(text):
    space = {"os": os}
    exec(text, space)
    return space["solve"]


@place
def import_in_the_body_without_source(n, around):
    around.module("plantdata", f"LIMIT = {n}")
    return without_source("def solve(y):\n    from plantdata import LIMIT\n    return y * LIMIT\n")


@place
def environment_without_source(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))
    return without_source("def solve(y):\n    return y * float(os.environ['PLANT_LIMIT'])\n")


TRANSFORMER = """
from sklearn.base import BaseEstimator, TransformerMixin
FACTOR = {}
class Scaler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self
    def transform(self, X):
        return X * FACTOR
"""


@place
def transformer_in_a_pipeline(n, around):
    pipeline = pytest.importorskip("sklearn.pipeline")
    pipe = pipeline.make_pipeline(around.loaded("scalers", TRANSFORMER.format(n)).Scaler()).fit(Y)
    return lambda y: pipe.transform(y[None])[0]


CLOSED = """
LIMIT = {}
class Limits:
    found = 0
    def close(self):
        self.found = LIMIT
"""


@place
def object_that_a_library_holds(n, around):
    held = contextlib.closing(around.loaded("plant_limits", CLOSED.format(n)).Limits())

    def solve(y):
        with held as limits:
            pass
        return y * limits.found

    return solve


THREAD = """
import threading
LIMIT = {}
class Limits(threading.Thread):
    def run(self):
        self.found = LIMIT
"""


@place
def hook_of_a_library(n, around):
    limits = around.loaded("plant_limits", THREAD.format(n))

    def solve(y):
        thread = limits.Limits()
        thread.start()
        thread.join()
        return y * thread.found

    return solve


@place
def module_without_a_file(n, around):
    settings = types.ModuleType("plant_settings")
    settings.LIMITS = {"a": n}
    return lambda y: y * settings.LIMITS["a"]


@place
def default_of_a_made_dataclass(n, around):
    kind = dataclasses.make_dataclass("Limits", [("most", int, dataclasses.field(default=n))])
    return lambda y: y * kind().most


@place
def graph_of_networkx(n, around):
    nx = pytest.importorskip("networkx")
    graph = nx.DiGraph()
    graph.add_edge(0, 1, weight=n)
    return lambda y: y * nx.shortest_path_length(graph, 0, 1, weight="weight") * graph.adj[0][1]["weight"]


@place
def problem_of_cvxpy(n, around):
    cp = pytest.importorskip("cvxpy")
    x, price = cp.Variable(2), cp.Parameter(2)
    problem = cp.Problem(cp.Maximize(price @ x), [x <= n, x >= 0])

    def solve(y):
        price.value = np.abs(y) + 1.0
        problem.solve(solver=cp.CLARABEL)
        return np.round(x.value, 3)

    return solve


@place
def model_of_cp_sat(n, around):
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    x = model.new_int_var(0, n, "x")
    model.maximize(x)

    def solve(y):
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.solve(model)
        return y * solver.value(x)

    return solve


@place
def solver_of_or_tools(n, around):
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    solver = pywraplp.Solver.CreateSolver("GLOP")
    x = solver.NumVar(0, n, "x")
    solver.Maximize(x)

    def solve(y):
        solver.Solve()
        return y * x.solution_value()

    return solve


@place
def model_of_pyomo(n, around):
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.limit = pyo.Param(initialize=n, mutable=True)
    model.x = pyo.Var(bounds=(0, 10))
    model.most = pyo.Constraint(expr=model.x <= model.limit)
    model.gain = pyo.Objective(expr=model.x, sense=pyo.maximize)
    return lambda y: y * pyo.value(model.limit)


@place
def constraint_of_pyomo(n, around):
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 10))
    model.most = pyo.Constraint(expr=model.x[0] <= n)
    return lambda y: y * pyo.value(model.most.upper)


@place
def model_of_highs(n, around):
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.addVar(0.0, float(n))
    highs.changeColCost(0, -1.0)

    def solve(y):
        highs.run()
        return y * highs.getSolution().col_value[0]

    return solve


@place
def module_of_a_package_in_the_body(n, around):
    (around.folder / "plant_parts").mkdir(exist_ok=True)
    (around.folder / "plant_parts" / "__init__.py").write_text("")
    (around.folder / "plant_parts" / "data.py").write_text(f"LIMIT = {n}")
    for name in ("plant_parts", "plant_parts.data"):
        around.patch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()

    def solve(y):
        from plant_parts import data

        return y * data.LIMIT

    return solve


@place
def import_in_a_class_of_the_body(n, around):
    around.module("plantdata", f"LIMIT = {n}")

    def solve(y):
        class Settings:
            import plantdata as plant

        return y * Settings.plant.LIMIT

    return solve


@place
def special_name_of_a_class(n, around):
    class Limited:
        __limit__ = n

    return lambda y: y * Limited.__limit__


@place
def special_name_of_a_function(n, around):
    def solve(y):
        return y * solve.__limit__

    solve.__limit__ = n
    return solve


@place
def name_of_a_class_like_those_of_abc(n, around):
    class Limited:
        _abc_limit = n

    return lambda y: y * Limited._abc_limit


@place
def factory_of_a_field(n, around):
    @dataclasses.dataclass
    class Limits:
        most: list = dataclasses.field(default_factory=lambda: [n])

    return lambda y: y * Limits().most[0]


@place
def object_that_wraps_a_function(n, around):
    class Scaled:
        def __init__(self, function):
            functools.update_wrapper(self, function)
            self.limit = n

        def __call__(self, y):
            return self.__wrapped__(y) * self.limit

    return Scaled(lambda y: y)


@place
def docstring(n, around):
    def solve(y):
        return y * float(solve.__doc__)

    solve.__doc__ = str(n)
    return solve


@place
def annotation(n, around):
    def solve(y):
        return y * solve.__annotations__["limit"]

    solve.__annotations__["limit"] = n
    return solve


@place
def globals_of_the_function(n, around):
    around.patch.setattr(HERE, "LIMIT", n, raising=False)

    def solve(y):
        return y * solve.__globals__["LIMIT"]

    return solve


@place
def globals_of_the_frame(n, around):
    around.patch.setattr(HERE, "LIMIT", n, raising=False)
    return lambda y: y * sys._getframe().f_globals["LIMIT"]


@place
def environment_in_bytes(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))
    return lambda y: y * float(os.environb[b"PLANT_LIMIT"])


@place
def environment_by_getenvb(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))
    return lambda y: y * float(os.getenvb(b"PLANT_LIMIT"))


@place
def environment_in_a_path(n, around):
    around.patch.setenv("PLANT_LIMIT", str(n))
    return lambda y: y * float(os.path.expandvars("$PLANT_LIMIT"))


@place
def file_by_a_raw_stream(n, around):
    path = around.folder / "limit.txt"
    path.write_text(str(n))

    def solve(y):
        with contextlib.closing(io.FileIO(path)) as file:
            return y * float(file.readall())

    return solve


@place
def file_by_linecache(n, around):
    path = around.folder / "limit.txt"
    path.write_text(str(n))

    def solve(y):
        linecache.clearcache()
        return y * float(linecache.getline(str(path), 1))

    return solve


@place
def file_of_an_archive(n, around):
    path = around.folder / "limit.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("limit", str(n))

    def solve(y):
        with zipfile.ZipFile(path) as archive:
            return y * float(archive.read("limit"))

    return solve


@place
def file_of_settings(n, around):
    path = around.folder / "limit.ini"
    path.write_text(f"[plant]\nlimit={n}")

    def solve(y):
        settings = configparser.ConfigParser()
        settings.read(path)
        return y * settings.getfloat("plant", "limit")

    return solve


@place
def file_of_xml(n, around):
    path = around.folder / "limit.xml"
    path.write_text(f"<limit>{n}</limit>")
    return lambda y: y * float(ElementTree.parse(path).getroot().text)


@place
def file_of_parquet(n, around):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    path = around.folder / "limit.parquet"
    parquet.write_table(arrow.table({"limit": [n]}), path)
    return lambda y: y * parquet.ParquetFile(path).read()["limit"][0].as_py()


@place
def file_by_a_function_that_is_held(n, around):
    path = around.folder / "limit.npy"
    np.save(path, np.array(n))
    held = {"load": np.load}
    return lambda y: y * held["load"](path)


@place
def file_by_a_partial_function(n, around):
    path = around.folder / "limit.txt"
    path.write_text(str(n))
    opened = functools.partial(open, path)
    return lambda y: y * float(opened().read())


@place
def file_that_is_run(n, around):
    path = around.folder / "limit.py"
    path.write_text(f"LIMIT = {n}")
    return lambda y: y * runpy.run_path(str(path))["LIMIT"]


@place
def module_by_its_file(n, around):
    path = around.folder / "limit.py"
    path.write_text(f"LIMIT = {n}")

    def solve(y):
        spec = importlib.util.spec_from_file_location("limit", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return y * module.LIMIT

    return solve


@place
def size_of_a_path(n, around):
    path = around.folder / "limit.txt"
    path.write_text("x" * n)
    return lambda y: y * path.stat().st_size


@place
def path_that_is_there(n, around):
    path = around.folder / "limit.txt"
    path.unlink(missing_ok=True)
    if n == 6:
        path.write_text("")
    return lambda y: y * (2 if path.exists() else 1)


@place
def folder_by_a_pattern(n, around):
    folder = around.folder / "limits"
    folder.mkdir(exist_ok=True)
    for k in range(n):
        (folder / str(k)).write_text("")
    return lambda y: y * len(list(folder.glob("*")))


@place
def command_of_the_shell(n, around):
    path = around.folder / "limit.sh"
    path.write_text(f"exit {n}")
    return lambda y: y * os.waitstatus_to_exitcode(os.system(f"sh {path}"))


@place
def program_that_is_spawned(n, around):
    path = around.folder / "limit.sh"
    path.write_text(f"exit {n}")
    return lambda y: y * os.spawnlp(os.P_WAIT, "sh", "sh", str(path))


@place
def categories_of_a_series(n, around):
    pd = pytest.importorskip("pandas")
    series = pd.Series(pd.Categorical(["a"], categories=["a", str(n)]))
    return lambda y: y * float(series.cat.categories[1])


@place
def name_of_an_index(n, around):
    frame = pytest.importorskip("pandas").DataFrame({"limit": [1]})
    frame.index.name = str(n)
    return lambda y: y * float(frame.index.name)


@place
def function_in_a_ufunc(n, around):
    cut = np.frompyfunc(lambda y: min(y, n), 1, 1)
    return lambda y: cut(y).astype(float)


@place
def tree_of_points(n, around):
    tree = pytest.importorskip("scipy.spatial").cKDTree([[0.0], [float(n)]])
    return lambda y: y * tree.data[1, 0]


@place
def attribute_of_a_graph(n, around):
    graph = pytest.importorskip("networkx").Graph()
    graph.limit = n
    return lambda y: y * graph.limit


@place
def threshold_in_cvxpy(n, around):
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.huber(x - 100, n))))

    def solve(y):
        problem.solve(solver=cp.CLARABEL)
        return y + np.round(problem.value)

    return solve


@place
def index_in_cvxpy(n, around):
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(10)
    problem = cp.Problem(cp.Maximize(cp.sum(x[np.array([1, n])])), [x <= np.arange(10.0)])

    def solve(y):
        problem.solve(solver=cp.CLARABEL)
        return y * np.round(problem.value)

    return solve


@place
def attribute_of_a_pyomo_model(n, around):
    model = pytest.importorskip("pyomo.environ").ConcreteModel()
    model.limit = n
    return lambda y: y * model.limit


@place
def suffix_of_pyomo(n, around):
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.limit = pyo.Suffix()
    model.limit[model.x] = n
    return lambda y: y * model.limit[model.x]


@place
def squares_of_highs(n, around):
    highspy = pytest.importorskip("highspy")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.addVar(0.0, 100.0)
    highs.changeColCost(0, -60.0)
    highs.passHessian(1, 1, 1, np.array([0]), np.array([0]), np.array([float(n)]))

    def solve(y):
        highs.run()
        return y * round(highs.getSolution().col_value[0], 3)

    return solve


@place
def end_of_a_long_list(n, around):
    prices = [*range(200_000), n]
    return lambda y: y * prices[-1]


@place
def entry_of_many_lists(n, around):
    distances = [[float(k * j) for j in range(400)] for k in range(400)]
    distances[399][398] = float(n)
    return lambda y: y * distances[399][398]


def known(*instances):
    """A `solve` that reads the known data of its row, of which there are some of each of these."""
    return {"instances": [instances[k % len(instances)] for k in range(len(Y))], "cost": cost_of_known}


def cost_of_known(y, z, instance):
    return cost(y, z)


@place
def instances_with_a_date(n, around):
    return lambda y, one: y * one["limit"], known({"day": datetime.date(2024, 1, 1), "limit": n})


@place
def instances_of_dates(n, around):
    return lambda y, one: y * one.day, known(datetime.date(2024, 1, n))


@place
def instances_of_objects(n, around):
    return lambda y, one: y * one.limit, known(Plant(1), Plant(n))


@place
def instances_with_a_method_that_reads_its_module(n, around):
    text = f"LIMIT = {n}\n\nclass Plant:\n    def limit(self):\n        return LIMIT\n"
    plants = around.loaded("plants", text)
    return lambda y, one: y * one.limit(), known(plants.Plant())


@place
def instances_of_namespaces(n, around):
    return lambda y, one: y * one.limit, known(types.SimpleNamespace(limit=n))


@place
def instances_of_series(n, around):
    return lambda y, one: y * one["limit"], known(pytest.importorskip("pandas").Series({"limit": n}))


@place
def instances_of_graphs(n, around):
    graph = pytest.importorskip("networkx").Graph()
    graph.add_edge(0, 1, weight=n)
    return lambda y, one: y * one[0][1]["weight"], known(graph)


@place
def instances_of_sets(n, around):
    return lambda y, one: y * min(one), known({n, 100})


@place
def instances_beside_a_cache(n, around):
    def solve(y, one):
        one.solved.append(float(y[0]))
        return y * one.limit

    return solve, known(types.SimpleNamespace(limit=n, solved=[]))


@place
def instances_that_cannot_be_looked_into(n, around):
    return lambda y, one: y * next(one["limits"]), known({"limits": (n for _ in itertools.count())})


def paid(folder, solve, **options):
    solve, more = solve if isinstance(solve, tuple) else (solve, {})
    problem = fs.Problem(**{"solve": solve, "cost": cost, **options, **more})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ledger = open_ledger(folder, problem, Y, identity="a")
        try:
            Oracle(problem, Y, ledger=ledger).regret(np.arange(4), Y[:4] + 0.5, phase="online")
        finally:
            ledger.close()
    return [str(one.message) for one in found if "was compared" in str(one.message)]


# what is out of reach: the warning names it
LISTED = {
    "annotation": "__annotations__ in solve",
    "arguments_of_the_program": "sys.argv (as a whole)",
    "attribute_that_solve_assigns": "Normalised.limit (the functions assign it)",
    "command_of_the_shell": "os.system()",
    "docstring": "__doc__ in solve",
    "environment_by_a_computed_name": "os.environ (by a name that is computed)",
    "environment_by_getenvb": "os.getenvb()",
    "environment_in_a_path": "os.path.expandvars()",
    "environment_in_bytes": "os.environb (as a whole)",
    "environment_without_source": "imports and names in solve (its source cannot be read)",
    "file_by_a_function_that_is_held": "held['load'] (",
    "file_by_a_library_that_the_body_imports": "files.read_limit()",
    "file_by_a_partial_function": "open()",
    "file_by_a_raw_stream": "io.FileIO()",
    "file_by_linecache": "linecache.getline()",
    "file_by_numpy": "np.load()",
    "file_by_open": "open() in solve",
    "file_by_pandas": "pd.read_csv()",
    "file_by_path": "read_text() in <lambda>",
    "file_of_an_archive": "zipfile.ZipFile()",
    "file_of_parquet": "parquet.ParquetFile()",
    "file_of_settings": "configparser.ConfigParser()",
    "file_of_xml": "ElementTree.parse()",
    "file_that_is_run": "runpy.run_path()",
    "folder_by_a_pattern": "glob() in",
    "function_in_a_ufunc": "cut (ufunc)",
    "folder_by_listdir": "os.listdir()",
    "generator": "numbers (generator)",
    "global_by_a_computed_name": "globals() (by a name that is computed)",
    "globals_of_the_frame": "f_globals in <lambda>",
    "globals_of_the_function": "__globals__ in solve",
    "import_in_the_body_without_source": "imports and names in solve (its source cannot be read)",
    "instances_that_cannot_be_looked_into": "instances['limits'] (generator)",
    "module_by_a_computed_name": "sys.modules (by a name that is computed)",
    "module_by_its_file": "spec_from_file_location()",
    "path_that_is_there": "exists() in",
    "program_that_is_spawned": "os.spawnlp()",
    "size_of_a_file": "os.path.getsize()",
    "size_of_a_path": "st_size() in",
    "weak_reference": "reference (ReferenceType)",
}


@pytest.mark.parametrize("name", sorted(PLACES))
def test_places_a_parameter_that_has_changed_is_refused_or_a_warning_names_it(name, around, tmp_path):
    paid(tmp_path / "run", PLACES[name](5, around))
    if name in LISTED:
        (warning,) = paid(tmp_path / "run", PLACES[name](6, around))
        assert LISTED[name] in warning
    else:
        with pytest.raises(LedgerError, match="another problem"):
            paid(tmp_path / "run", PLACES[name](6, around))


@pytest.mark.parametrize("name", sorted(PLACES))
def test_places_a_parameter_that_is_the_same_is_no_change(name, around, tmp_path):
    for _ in range(3):
        found = paid(tmp_path / "run", PLACES[name](5, around))
    assert not found or name in LISTED


def test_places_are_as_many_as_were_attacked():
    assert len(PLACES) >= 46


@pytest.mark.parametrize("name", ["file_by_path", "generator", "environment_by_a_computed_name"])
def test_places_what_is_out_of_reach_counts_where_the_user_states_it(name, around, tmp_path):
    def stated(n):
        solve = PLACES[name](n, around)
        return paid(tmp_path / "run", solve, depends_on=[around.folder / "limit.txt", {"limit": n}])

    assert stated(5) == stated(5) == []
    with pytest.raises(LedgerError, match=r"depends_on\[\d\]"):
        stated(6)


def test_places_a_file_that_depends_on_names_in_a_text_counts_by_its_content(around, tmp_path):
    """Only the text was compared."""

    def stated(n):
        solve = PLACES["file_by_path"](n, around)
        return paid(tmp_path / "run", solve, depends_on=[str(around.folder / "limit.txt"), "x" * 5000])

    assert stated(5) == stated(5) == []
    with pytest.raises(LedgerError, match=r"depends_on\[0\]"):
        stated(6)
