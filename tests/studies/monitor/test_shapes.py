from labelwood import studies


def test_the_quick_version_has_a_row_for_every_shape_and_is_drawn(tmp_path):
    parts = ["normal", "0/1 with rate 0.9, such as accepted"]
    result = studies.run("monitor-shapes", only=parts, quick=True, jobs=1)
    assert [row["figure"] for row in result.rows] == parts
    normal, accepted = result.rows
    assert normal["block"] <= 2 < accepted["block"]
    assert min(normal["delay"], accepted["in blocks"]) > 0
    assert result.write(tmp_path)
