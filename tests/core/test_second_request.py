from concurrent.futures import ThreadPoolExecutor

from labelwood.core.second_request import BuiltOnSecondRequest, same_arrays


def test_the_record_is_made_once_and_from_the_second_time_on():
    table = BuiltOnSecondRequest(sorted, [3, 1, 2])
    assert table.get() is None
    assert table.made is None
    record = table.get()
    assert record == [1, 2, 3]
    assert table.get() is table.made is record


def test_threads_share_the_record():
    table = BuiltOnSecondRequest(sorted, [3, 1, 2])
    table.get()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: table.get(), range(32)))
    assert all(one is found[0] for one in found)


def test_records_are_the_same_if_they_hold_the_same_objects():
    a, b = [1], [2]
    assert same_arrays((a, b), (a, b))
    assert not same_arrays((a, b), (a, [2]))
